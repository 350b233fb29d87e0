import { expect, test } from 'vitest';
import { editDistance } from './edit-distance.ts';

test.each([
  ['', '', 0],
  ['', 'abc', 3],
  ['abc', '', 3],
  ['kitten', 'sitting', 3],
  ['PROT', 'PORT', 2],
  ['abc', 'abc', 0],
])('From %j to %j the edit distance is %i', (from, to, edits) => {
  expect(editDistance(from, to)).toBe(edits);
});

test('The words of a list are compared as the characters of a text are', () => {
  expect(editDistance(['a', 'red', 'circle'], ['a', 'blue', 'circle', 'there'])).toBe(2);
  expect(editDistance(['red', 'blue', 'red'], ['blue', 'red'])).toBe(1);
});
