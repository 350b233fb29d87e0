import { expect, test } from 'vitest';
import { compressionRatio, isSilence, needsFallback, temperatureLadder } from './fallback.ts';

const good = { avgLogProbability: -0.3, compressionRatio: 1.2, noSpeechProbability: 0.1 };

test('A good text needs no fallback', () => {
  expect(needsFallback(good)).toBe(false);
  expect(needsFallback({ ...good, compressionRatio: 2.4, avgLogProbability: -1 })).toBe(false);
});

test('A repetitive or unlikely text needs a fallback', () => {
  expect(needsFallback({ ...good, compressionRatio: 2.41 })).toBe(true);
  expect(needsFallback({ ...good, avgLogProbability: -1.01 })).toBe(true);
});

test('A window is silent when silence is likely and its text is unlikely, and then needs no fallback', () => {
  const silent = { avgLogProbability: -1.4, compressionRatio: 9, noSpeechProbability: 0.7 };
  expect(isSilence(silent)).toBe(true);
  expect(needsFallback(silent)).toBe(false);
  expect(isSilence({ ...silent, avgLogProbability: -0.4 })).toBe(false);
  expect(isSilence({ ...silent, noSpeechProbability: 0.6 })).toBe(false);
});

test('Temperatures go up to 1 in steps of 0.2, and without fallback there is only one', () => {
  expect(temperatureLadder(0, true)).toEqual([0, 0.2, 0.4, 0.6, 0.8, 1]);
  expect(temperatureLadder(0.3, true)).toEqual([0.3, 0.5, 0.7, 0.9]);
  expect(temperatureLadder(1, true)).toEqual([1]);
  expect(temperatureLadder(0.3, false)).toEqual([0.3]);
});

test('The compression ratio is that of zlib over UTF-8', () => {
  // Python: len(text.encode()) / len(zlib.compress(text.encode()))
  expect(compressionRatio('')).toBe(0);
  expect(compressionRatio('Fire it slowly.')).toBeCloseTo(15 / 23, 6);
  expect(compressionRatio('la casa '.repeat(40))).toBeCloseTo(320 / 20, 6);
  expect(compressionRatio('señor '.repeat(30))).toBeCloseTo(210 / 18, 6);
});
