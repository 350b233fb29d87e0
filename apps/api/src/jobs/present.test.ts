import { expect, test } from 'vitest';
import { ALL_FIRST } from '../fleet/backlog.ts';
import { etaMs } from './present.ts';

const job = { position: 1, costMs: 300, meanCostMs: 100, workers: 1, elsewhereMs: 0, elsewhereGroups: 0 };

test('The estimate is null while no worker serves the group', () => {
  expect(etaMs({ ...job, workers: 0 })).toBeNull();
});

test('A job takes its own time, plus the time of the jobs ahead of it', () => {
  expect(etaMs(job)).toBe(300);
  expect(etaMs({ ...job, position: 5 })).toBe(700);
});

test('Work in another lane counts up to the time that the job takes itself, because the lanes run side by side', () => {
  expect(etaMs({ ...job, elsewhereMs: 50, elsewhereGroups: 1 })).toBe(350);
  expect(etaMs({ ...job, elsewhereMs: 25_000, elsewhereGroups: 1 })).toBe(600);
});

test('Work that runs before the job counts in full', () => {
  expect(etaMs({ ...job, elsewhereMs: 100_000, elsewhereGroups: ALL_FIRST })).toBe(100_300);
});

test('Workers share the jobs ahead, but a job runs on one worker', () => {
  expect(etaMs({ ...job, position: 5, workers: 4 })).toBe(400);
});
