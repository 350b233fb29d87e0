import { expect, test } from 'vitest';
import { etaMs } from './eta.ts';

const job = { position: 1, costMs: 300, meanCostMs: 100, workers: 1, running: 0 };

test('The estimate is null while no worker serves the group', () => {
  expect(etaMs({ ...job, workers: 0 })).toBeNull();
});

test('A job takes its own time, plus the time of the jobs ahead of it', () => {
  expect(etaMs(job)).toBe(300);
  expect(etaMs({ ...job, position: 5 })).toBe(700);
});

test('Running samples count with half of their work', () => {
  expect(etaMs({ ...job, running: 4 })).toBe(500);
});

test('Workers share the jobs ahead, but a job runs on one worker', () => {
  expect(etaMs({ ...job, position: 5, workers: 4 })).toBe(400);
});
