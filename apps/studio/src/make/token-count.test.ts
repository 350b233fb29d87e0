import { expect, test } from 'vitest';
import { countedTokens, estimateTokens } from './token-count.ts';

/** As CLIP's own vocabulary counts them. */
const COUNTED: readonly [prompt: string, tokens: number][] = [
  ['a red circle on a blue background', 7],
  ['two green stars above a yellow square', 7],
  ['a photograph of an astronaut riding a horse', 8],
];

test.each(COUNTED)('The estimate of common words is what the vocabulary has: %s', (prompt, tokens) => {
  expect(Math.abs(estimateTokens(prompt, 'plain', 75).tokens - tokens)).toBeLessThanOrEqual(2);
});

test('Brackets and weights are no tokens of a weighted prompt, and signs of a plain one', () => {
  const prompt = 'a (red:1.3) [circle]';
  expect(estimateTokens(prompt, 'weighted', 75)).toEqual({ tokens: 3, chunks: 1, isExact: false });
  expect(estimateTokens(prompt, 'plain', 75).tokens).toBe(11);
});

test('A weighted prompt is read in chunks of 75 tokens, and BREAK begins a new one', () => {
  const chunksOf = (prompt: string): number => estimateTokens(prompt, 'weighted', 75).chunks;
  expect(chunksOf('')).toBe(1);
  expect(chunksOf('red '.repeat(75))).toBe(1);
  expect(chunksOf('red '.repeat(76))).toBe(2);
  expect(chunksOf('red BREAK blue BREAK green')).toBe(3);
});

test('What a worker has counted is exact, for the same prompt, model and syntax alone', () => {
  const now = { prompt: 'red', model: 'demo', syntax: 'weighted' } as const;
  const job = {
    model: 'demo@1',
    input: { prompt: 'red', prompt_syntax: 'weighted' },
    output: { prompt_size: { tokens: 130, chunks: 2 } },
  } as const;
  expect(countedTokens(job, now)).toEqual({ tokens: 130, chunks: 2, isExact: true });
  expect(countedTokens(job, { ...now, prompt: 'blue' })).toBeUndefined();
  expect(countedTokens(job, { ...now, model: 'other' })).toBeUndefined();
  expect(countedTokens(job, { ...now, syntax: 'plain' })).toBeUndefined();
  const cut = {
    model: 'demo@1',
    input: { prompt: 'red' },
    output: { truncated_prompt: { read: 77, tokens: 90 } },
  };
  expect(countedTokens(cut, { ...now, syntax: 'plain' })).toMatchObject({ tokens: 88, isExact: true });
});
