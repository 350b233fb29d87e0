/** The short part of the suite: what it measures is found, page by page, and labels cost only the jobs that have them. */
import { expect, test } from 'vitest';
import { measureSearches } from './searches.ts';

test('Among stored jobs each kind of search finds what it should, and deep pages have each job once while others are made', {
  tags: ['long'],
}, async () => {
  const { searches, bytes, inserted } = await measureSearches({ jobs: 2000, asked: 5, say: () => {} });
  expect(searches.map(({ name, found }) => [name, found > 0])).toEqual([
    ['the newest jobs, for comparison', true],
    ['a label', true],
    ['a label, status and time', true],
    ['two labels', true],
    ['a label of every tenth job, status and time', true],
    ['time alone', true],
    ['words that no job has, one search after the other', false],
    ['deep pages of a label while jobs are made', true],
  ]);
  expect(bytes.plain).toBeLessThan(bytes.shared);
  expect(bytes.shared).toBeLessThan(bytes.own);
  expect(inserted).toBeGreaterThan(0);
});
