import { expect, test } from 'vitest';
import { textResults, titleOfTexts } from './text-results.ts';

const fill = (token_str: string, sequence: string) => ({ score: 0.9, token: 7, token_str, sequence });

test.each([
  [{ labels: [[{ label: 'POSITIVE', score: 0.987 }], []] }, ['POSITIVE, 99 %', 'Nothing found']],
  [{ fills: [[[fill('red', 'a red sky')]]] }, ['a red sky']],
  [{ fills: [[[fill(' red', 'a red [MASK]')], [fill(' sky', 'a [MASK] sky')]]] }, ['red, sky']],
  [
    { entities: [[{ label: 'PER', score: 1, word: 'Ada', start: 0, end: 3 }], []] },
    ['Ada (PER)', 'Nothing found'],
  ],
  [{ embeddings: [[0.1, 0.2, 0.3]], dimensions: 3 }, ['A vector of 3 numbers']],
  [{ text: 'a transcript' }, []],
])('Each text of a text job has its result in words: %j', (output, lines) => {
  expect(textResults({ output })).toEqual(lines);
});

test('A job without an output has no results', () => {
  expect(textResults({ output: null })).toEqual([]);
});

test.each([
  [['a film'], 'a film'],
  [[{ text: 'a premise', pair: 'a hypothesis' }, 'b', 'c'], 'a premise / a hypothesis +2'],
  [[[1, 2, 3]], '3 tokens'],
  [{ count: 900 }, '900 texts'],
  [undefined, undefined],
])('A text job is called after its first text: %j', (given, title) => {
  expect(titleOfTexts({ input: { texts: given } })).toBe(title);
});
