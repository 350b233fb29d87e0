import { expect, test } from 'vitest';
import {
  chooseLikeliest,
  drawToken,
  LogitRules,
  largest,
  logSumExp,
  probabilityOf,
  SeededUniform,
} from './logit-rules.ts';
import type { SpecialTokens } from './special-tokens.ts';

/** Text tokens 0 to 9, `end` is 10, five more special tokens, 20 timestamps from 16 on. */
const SPECIAL: SpecialTokens = {
  end: 10,
  start: 11,
  startOfPrevious: 12,
  noSpeech: 14,
  noTimestamps: 15,
  timestampBegin: 16,
  multilingual: undefined,
};
const VOCABULARY = 36;
const time = (steps: number): number => 16 + steps;

/** The ids that may follow `written`, when all logits are equal except the raised ones. */
function allowed(
  written: readonly number[],
  raised: Record<number, number> = {},
  timestamps = true,
): number[] {
  const rules = new LogitRules(SPECIAL, {
    suppress: [3, 11],
    beginSuppress: [5, 10],
    maxInitialTimestamp: 4,
  });
  const logits = new Float32Array(VOCABULARY);
  for (const [id, value] of Object.entries(raised)) logits[Number(id)] = value;
  rules.apply(logits, written, timestamps);
  return [...logits.keys()].filter((id) => logits[id] !== Number.NEGATIVE_INFINITY);
}
const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, i) => from + i);
/** High enough that text is more likely than all times together. */
const LOUD = 20;

test('Suppressed tokens are never written, and begin-suppressed tokens are not written first', () => {
  expect(allowed([], {}, false)).toEqual(range(0, VOCABULARY).filter((id) => ![3, 5, 10, 11].includes(id)));
  expect(allowed([7], {}, false)).toEqual(range(0, VOCABULARY).filter((id) => ![3, 11].includes(id)));
});

test('With timestamps a window begins with a time, at most the latest allowed', () => {
  expect(allowed([])).toEqual(range(time(0), time(5)));
});

test('Text follows the first time', () => {
  const next = allowed([time(1)], { 7: LOUD });
  expect(next).toContain(7);
  expect(next.filter((id) => id >= time(0))).toEqual([]);
});

test('Text, the end or a later time follows text', () => {
  const next = allowed([time(2), 7], { 7: LOUD });
  expect(next).toEqual([
    ...range(0, 15).filter((id) => id !== 3 && id !== 11),
    ...range(time(3), VOCABULARY),
  ]);
});

test('The end of the text or a time that is not earlier follows the end of a segment', () => {
  const next = allowed([time(2), 7, time(5)], { 10: LOUD });
  expect(next).toEqual([...range(10, 15).filter((id) => id !== 11), ...range(time(5), VOCABULARY)]);
});

test('Text follows the start of a segment, whose end is later than its start', () => {
  const pair = [time(2), 7, time(5), time(5)];
  expect(allowed(pair, { 7: LOUD }).every((id) => id < time(0))).toBe(true);
  const times = allowed([...pair, 8], { 8: LOUD }).filter((id) => id >= time(0));
  expect(times).toEqual(range(time(6), VOCABULARY));
});

test('A time is written when all times together are more likely than the most likely text token', () => {
  // 17 times with logit 0 have a log-sum of log(17) = 2.83.
  expect(allowed([time(2), 7], { 7: 2.8 })).toEqual(range(time(3), VOCABULARY));
  expect(allowed([time(2), 7], { 7: 2.9 })).toContain(7);
});

test('The token for no timestamps is never written when times are wanted', () => {
  expect(allowed([time(2), 7], { 15: LOUD })).not.toContain(15);
});

test('The log of a sum of exponentials is correct far from zero, over a range, and over nothing', () => {
  expect(logSumExp(Float32Array.of(1000, 1000))).toBeCloseTo(1000 + Math.LN2, 9);
  expect(logSumExp(Float32Array.of(1, 2, 3), 1)).toBeCloseTo(Math.log(Math.exp(2) + Math.exp(3)), 6);
  expect(logSumExp(Float32Array.of(1, 2), 0, 2, 0.5)).toBeCloseTo(Math.log(Math.exp(0.5) + Math.exp(1)), 6);
  expect(logSumExp(new Float32Array(0))).toBe(Number.NEGATIVE_INFINITY);
  expect(largest(Float32Array.of(1, Number.NaN, 2))).toBeNaN();
});

const NEVER = Number.NEGATIVE_INFINITY;

test('The most likely token is chosen, the first one of equals, with its log-probability', () => {
  const { token, logProbability } = chooseLikeliest(Float32Array.of(0, 2, NEVER, 2));
  expect(token).toBe(1);
  expect(logProbability).toBeCloseTo(2 - Math.log(1 + 2 * Math.exp(2)), 6);
});

test('Logits that are not finite are a numeric error', () => {
  for (const logits of [Float32Array.of(1, Number.NaN), Float32Array.of(NEVER), new Float32Array(0)]) {
    expect(() => chooseLikeliest(logits)).toThrow(expect.objectContaining({ code: 'numeric-error' }));
    expect(() => drawToken(logits, 0.5, 0.5)).toThrow(expect.objectContaining({ code: 'numeric-error' }));
  }
});

test('Tokens are drawn with their probability at the temperature', () => {
  const logits = Float32Array.of(1, 0, NEVER, 2);
  const uniform = new SeededUniform(7);
  const counts = [0, 0, 0, 0];
  for (let i = 0; i < 40_000; i++) counts[drawToken(logits, 0.5, uniform.next()).token] += 1;
  const weights = [Math.exp(2), 1, 0, Math.exp(4)];
  const total = weights.reduce((a, b) => a + b);
  for (const [i, weight] of weights.entries()) expect(counts[i] / 40_000).toBeCloseTo(weight / total, 2);
  expect(counts[2]).toBe(0);
});

test('The log-probability of a drawn token does not depend on the temperature', () => {
  const logits = Float32Array.of(1, 0, 2);
  const { token, logProbability } = drawToken(logits, 0.2, 0);
  expect(token).toBe(0);
  expect(Math.exp(logProbability)).toBeCloseTo(probabilityOf(logits, 0), 6);
  expect(drawToken(logits, 1, 1 - 2 ** -32).token).toBe(2);
});

test('The same seed gives the same numbers, all from 0 up to 1', () => {
  const draw = (seed: number): number[] => {
    const uniform = new SeededUniform(seed);
    return Array.from({ length: 100 }, () => uniform.next());
  };
  expect(draw(5)).toEqual(draw(5));
  expect(draw(5)).not.toEqual(draw(6));
  expect(draw(5).every((value) => value >= 0 && value < 1)).toBe(true);
});
