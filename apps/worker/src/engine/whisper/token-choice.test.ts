import { expect, test } from 'vitest';
import { chooseLikeliest, drawToken, probabilityOf, SeededUniform } from './token-choice.ts';

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
