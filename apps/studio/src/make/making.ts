/** The picture that is being made, or was made last. */
import { isOver, type Job } from '@lehr/client';
import { computed, signal } from '@preact/signals';
import { FollowedJob } from '../jobs/follow.ts';
import { type Fault, faultOf } from '../wire/fault.ts';
import { lehr } from '../wire/lehr.ts';
import { controlFields } from './control/control.ts';
import { change, loadForm, model, randomSeed, requestOf, settings } from './form.ts';
import { expandNow, isAtCanvas, picture, pictureFields } from './picture/edit.ts';
import type { Expand } from './picture/frame.ts';
import type { PictureFile } from './picture/picture-file.ts';
import { rememberPrompt } from './prompts.ts';

interface Beginning {
  readonly picture: PictureFile;
  readonly expand: Expand;
}

export const current = signal<FollowedJob | undefined>(undefined);
/** The picture that the current job began at, and what was drawn around it. */
export const beginning = signal<Beginning | undefined>(undefined);
export const fault = signal<Fault | undefined>(undefined);
const isSending = signal(false);
const isCanceling = signal(false);

export const isBusy = computed(() => isSending.value || isUnderWay(current.value));

export async function make(): Promise<void> {
  if (isBusy.value || settings.value.prompt.trim() === '') return;
  if (!settings.value.keepsSeed) change({ seed: randomSeed() });
  isSending.value = true;
  fault.value = undefined;
  try {
    await loadForm();
    // Make says so when there is no model that draws.
    if (!model.value) return;
    const begun = picture.value && { picture: picture.value, expand: expandNow() };
    const fields = await pictureFields();
    if (!fields) return;
    const guided = await controlFields(model.value);
    const job = await lehr.submit(requestOf(settings.value, { ...fields, ...guided }));
    rememberPrompt(settings.value.prompt);
    show(job, begun);
  } catch (error) {
    fault.value = faultOf(error);
  } finally {
    isSending.value = false;
  }
}

/** The same seed once more: the same picture, or with other settings one that can be compared with it. */
export function makeWithSeed(seed: number): void {
  change({ seed, keepsSeed: true });
  void make();
}

/** The same settings with another seed. */
export function vary(): void {
  change({ keepsSeed: false });
  void make();
}

export async function cancel(): Promise<void> {
  const followed = current.value;
  if (!followed || !isUnderWay(followed) || isCanceling.value) return;
  isCanceling.value = true;
  try {
    const job = await lehr.cancel(followed.job.value.id);
    if (isOver(job)) followed.job.value = job;
    else await followed.ended;
  } catch (error) {
    fault.value = faultOf(error);
  } finally {
    isCanceling.value = false;
  }
}

function isUnderWay(followed: FollowedJob | undefined): boolean {
  return followed !== undefined && !followed.isLost.value && !isOver(followed.job.value);
}

function show(job: Job, begun: Beginning | undefined): void {
  current.value?.stop();
  current.value = new FollowedJob(job);
  beginning.value = begun;
  isAtCanvas.value = false;
}
