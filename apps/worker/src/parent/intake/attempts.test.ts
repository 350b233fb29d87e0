import { expect, test } from 'vitest';
import { jobsToKeep, mostJobs } from './attempts.ts';

test('A worker may have any number of jobs that were never started before', () => {
  expect(mostJobs([1, 1, 1])).toBe(Number.POSITIVE_INFINITY);
  expect(mostJobs([])).toBe(Number.POSITIVE_INFINITY);
});

test('Each further attempt of a job allows fewer jobs beside it, and the fourth one none', () => {
  expect([2, 3, 4, 5, 6].map((attempt) => mostJobs([1, attempt]))).toEqual([4, 2, 1, 1, 1]);
});

test('Of several claimed jobs as many are kept as the attempts of all jobs allow, and at least one', () => {
  expect(jobsToKeep([2, 2, 2, 2, 2, 2], [])).toBe(4);
  expect(jobsToKeep([2, 2], [1, 1, 1])).toBe(1);
  expect(jobsToKeep([4, 1], [1, 1, 1])).toBe(1);
  expect(jobsToKeep([1, 1], [1, 1])).toBe(Number.POSITIVE_INFINITY);
});
