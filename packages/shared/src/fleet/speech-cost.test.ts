import { expect, test } from 'vitest';
import { speechCostMs } from './speech-cost.ts';

const QUEUE = 'whisper.base@1';
const lanes = [{ queue: QUEUE, row_steps_per_s: 5 }];

test('A recording costs the time that its seconds take at the measured speed', () => {
  expect(speechCostMs(60, QUEUE, lanes)).toBe(12_000);
});

test('A file of a second costs as much as one of ten, because the encoder reads a whole window of each', () => {
  expect(speechCostMs(10, QUEUE, lanes)).toBe(2_000);
  expect(speechCostMs(1, QUEUE, lanes)).toBe(2_000);
});
