import { expect, test } from 'vitest';
import { best } from './scores.ts';

/** Scores of a vocabulary, many of them equal. */
const SCORES = Float64Array.from({ length: 30_000 }, (_, i) => ((i * 7919) % 10_007) / 10_007);

const bySorting = (count: number): number[] =>
  Array.from(SCORES.keys())
    .sort((a, b) => SCORES[b] - SCORES[a] || a - b)
    .slice(0, count);

test.each([1, 5, 1000, 20_000, 40_000])(
  'The best %i scores are those that sorting all would give',
  (count) => {
    expect(best(SCORES, count)).toEqual(bySorting(count));
  },
);

test('The best thousand of a vocabulary are found with few comparisons for each score', () => {
  let reads = 0;
  const counting = new Proxy(SCORES, {
    get: (scores, key) => {
      reads += 1;
      return Reflect.get(scores, key, scores);
    },
  });
  best(counting, 1000);
  // A binary search in a thousand takes ten comparisons of two scores; most scores are worse than the worst that is kept.
  expect(reads).toBeLessThan(SCORES.length * 2 * 12);
});
