import { expect, test } from 'vitest';
import { growthOf } from './admit.ts';

const expected = { readyInMs: 5_000, startMs: 60_000, workers: 4 };

test('Without a live worker a job is judged by the fleet that is expected, and without one by the workers that there are', () => {
  expect(growthOf(undefined, 0, 600_000)).toBeUndefined();
  expect(growthOf(expected, 0, 600_000)).toEqual({ workers: 4, startMs: 5_000 });
  expect(growthOf({ ...expected, workers: 1 }, 0, 1_000)).toEqual({ workers: 1, startMs: 5_000 });
});

test('A fleet that grows counts where it can do more within the limit in spite of its start', () => {
  expect(growthOf(expected, 1, 600_000)).toEqual({ workers: 4, startMs: 60_000 });
  expect(growthOf(expected, 1, 61_000)).toBeUndefined();
  expect(growthOf(expected, 4, 600_000)).toBeUndefined();
});
