/** The recording that is being transcribed, or was last. */
import type { Job } from '@lehr/client';
import { signal } from '@preact/signals';
import { FollowedJob } from '../jobs/follow.ts';
import { texts } from '../texts/index.ts';
import { faultOf } from '../wire/fault.ts';
import { lehr } from '../wire/lehr.ts';
import { Recorder } from './recorder.ts';

export const recorder = new Recorder();
export const isUploading = signal(false);
export const fault = signal<string | undefined>(undefined);
export const followed = signal<FollowedJob | undefined>(undefined);
/** A `blob:` URL of the sound, for the player. */
export const sound = signal<string | undefined>(undefined);

export async function talk(): Promise<void> {
  if (isUploading.value) return;
  fault.value = undefined;
  try {
    const wasIdle = recorder.state.value === 'idle';
    const blob = await recorder.record();
    if (blob) await transcribe(blob, 'recording.webm');
    else if (wasIdle) fault.value = texts.speak.tooShort;
  } catch (error) {
    const isRefused = error instanceof DOMException && error.name === 'NotAllowedError';
    fault.value = isRefused ? texts.speak.refused : texts.speak.noMicrophone;
  }
}

export async function transcribe(blob: Blob, name: string): Promise<void> {
  if (isUploading.value) {
    fault.value = texts.speak.busy;
    return;
  }
  fault.value = undefined;
  followed.value?.stop();
  followed.value = undefined;
  if (sound.value !== undefined) URL.revokeObjectURL(sound.value);
  sound.value = URL.createObjectURL(blob);
  isUploading.value = true;
  try {
    const { urls } = await lehr.upload(blob, { name });
    const job: Job = await lehr.submit({ type: 'speech-to-text', input: { audio: urls.get } });
    followed.value = new FollowedJob(job);
  } catch (error) {
    fault.value = faultOf(error).message;
  } finally {
    isUploading.value = false;
  }
}
