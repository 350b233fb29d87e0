import { expect, test } from 'vitest';
import { likeliestLanguage } from './special-tokens.ts';

const TOKENS = {
  transcribe: 1,
  translate: 2,
  languages: new Map([
    ['en', 3],
    ['es', 4],
  ]),
};

test('The most likely language is chosen among the language tokens only', () => {
  expect(likeliestLanguage(Float32Array.of(9, 9, 9, 1, 2, 9), TOKENS)).toBe('es');
  expect(likeliestLanguage(new Float32Array(6).fill(Number.NaN), TOKENS)).toBeUndefined();
});
