/** Word times of a small decoder with random weights; its attention is real, its text is not. */

import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeTinyWhisper } from '@lehr/demo-models';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import type { WindowWord } from '../protocol/messages.ts';
import { onnxRuntime } from '../runtime/onnx.ts';
import { openWhisperModel, type WhisperModel } from './folder/whisper-folder.ts';
import { TIMESTAMP_S } from './special-tokens.ts';
import { limitWords, timeWords } from './word-times.ts';

let folder: string;
let model: WhisperModel;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lehr-word-times-'));
  await writeTinyWhisper(folder, { seed: 5, crossAttentions: true });
  model = await openWhisperModel(folder, onnxRuntime, { providers: ['cpu'], threads: 1 });
});
afterAll(async () => {
  await model.close();
  await rm(folder, { recursive: true, force: true });
});

const wordsOf = async (contentFrames: number) => {
  const mel = Float32Array.from({ length: 80 * 200 }, (_, i) => Math.sin(i / 7) + Math.cos(i / 31));
  const [features] = await model.encoder.encode([mel], model.decoder.sizes.floatType);
  const prompt = [model.tokenizer.special.start];
  const tokens = [1, 2, 3, 4, 5, 6, 7, 8];
  const segments = [{ start: 0, end: 2, text: '', tokens }];
  return timeWords(model, { features, contentFrames, language: 'en', prompt, segments });
};

test('An odd last frame of the sound gives no position to align words with, as in openai-whisper', async () => {
  expect(await wordsOf(101)).toEqual(await wordsOf(100));
  expect((await wordsOf(3)).at(-1)?.end).toBeLessThan(2 * TIMESTAMP_S);
});

interface Case {
  readonly given: readonly {
    readonly start: number;
    readonly end: number;
    readonly words: readonly WindowWord[];
  }[];
  readonly wanted: readonly (readonly WindowWord[])[];
}

const RECORDED = new URL('../../../../../lab/real/whisper/fixtures/word-limits.json', import.meta.url);
const cases = JSON.parse(readFileSync(RECORDED, 'utf8')) as Case[];

describe('limitWords', () => {
  it.each(cases.map((each, i) => ({ ...each, i })))(
    'Words beside pauses and marks get the times that openai-whisper gives them (case $i)',
    ({ given, wanted }) => {
      const limited = limitWords(
        given.map(({ words }) => words),
        given,
      );
      expect(limited.map(({ word }) => word)).toEqual(wanted.flat().map(({ word }) => word));
      // Recorded to four decimals.
      for (const [i, { start, end }] of wanted.flat().entries()) {
        expect(limited[i].start).toBeCloseTo(start, 3);
        expect(limited[i].end).toBeCloseTo(end, 3);
      }
    },
  );
});
