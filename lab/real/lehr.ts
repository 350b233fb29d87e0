/** All of Lehr (API, worker, Redis, store) with one Whisper model, in two threads on the CPU. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import type { Transcript } from '../../packages/shared/src/index.ts';
import { startWholeLehr } from '../bench/whole-lehr.ts';

export interface SpeechLehr {
  /** `input` without the audio: language, mode, timestamps. */
  transcribe(link: string, input?: object): Promise<Transcript>;
  upload(bytes: Uint8Array): Promise<string>;
  readonly pids: readonly number[];
  close(): Promise<void>;
}

export const THREADS = 2;

/** `folder` has the exported model. */
export async function startSpeechLehr(folder: string): Promise<SpeechLehr> {
  const home = await mkdtemp(join(tmpdir(), 'lehr-real-'));
  const models = join(home, 'models.yaml');
  await writeFile(
    models,
    `models:
  - name: whisper
    task: whisper
    versions: [{ version: "1", path: ${relative(home, folder)} }]
    limits: { max_audio_s: 3600 }
`,
  );
  const lehr = await startWholeLehr({
    LEHR_MODELS: models,
    LEHR_TASKS: 'whisper',
    LEHR_DEVICE: 'cpu',
    LEHR_THREADS: `${THREADS}`,
  });
  return {
    transcribe: async (link, input = {}) =>
      (await lehr.run('speech-to-text', { audio: link, ...input })).output as Transcript,
    upload: lehr.upload,
    pids: lehr.pids,
    close: async () => {
      await lehr.close();
      await rm(home, { recursive: true, force: true });
    },
  };
}
