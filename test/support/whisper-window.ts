/** One window of audio as the engine gets it. The defaults: English, greedy decoding, no timestamps, no limit on batch mates. */
import type { SampleId, WhisperSample } from '../../apps/worker/src/engine/protocol/messages.ts';

export type WindowFields = Pick<WhisperSample, 'model' | 'mel' | 'contentFrames'> & Partial<WhisperSample>;

let made = 0;

export function whisperWindow(fields: WindowFields): WhisperSample {
  return {
    id: `window-${++made}` as SampleId,
    task: 'whisper',
    lane: `whisper.${fields.model}`,
    language: 'en',
    translate: false,
    prompt: '',
    previousTokens: [],
    temperature: 0,
    fallback: false,
    seed: 1,
    timestamps: 'none',
    maxBatchMates: Number.MAX_SAFE_INTEGER,
    ...fields,
  };
}
