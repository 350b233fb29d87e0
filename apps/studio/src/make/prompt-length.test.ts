import { expect, test } from 'vitest';
import { aboutTokens } from './prompt-length.ts';

test.each([
  ['', 2],
  ['a red circle on a blue background', 9],
  ["It's 12 o'clock, isn't it?", 14],
  ['  cat\n\n cat  ', 4],
])('The words, digits and signs of %j are counted as tokens, and the start and end', (prompt, tokens) => {
  expect(aboutTokens(prompt)).toBe(tokens);
});
