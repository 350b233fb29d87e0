import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tempFolder } from '../../../../../test/support/tiny-models.ts';
import { randomArrivals, recordedArrivals, type Server, timesAt } from './arrivals.ts';
import { durationsOf } from './goal.ts';

const SERVER: Server = { room: 1, workers: 1, steps: 1, perJobMs: 0, stepMs: () => 10 };

test('A job alone takes its steps and what it needs beside them, and one that comes meanwhile waits', () => {
  const server = { ...SERVER, steps: 3, perJobMs: 5 };
  expect(timesAt([0, 1000], server)).toEqual([35, 35]);
  expect(timesAt([0, 20], server)).toEqual([35, 50]);
});

test('With room, a job joins at the end of a step, and steps of more jobs take their longer time', () => {
  const server = { ...SERVER, room: 2, steps: 2, stepMs: (jobs: number) => 10 * jobs };
  // 0..10 alone, 10..30 both, 30..40 the second one.
  expect(timesAt([0, 5], server)).toEqual([30, 35]);
});

test('A second worker takes a job while the first is busy', () => {
  expect(timesAt([0, 5], { ...SERVER, workers: 2 })).toEqual([10, 10]);
});

test('The mean wait of one server is that of the queue M/D/1', () => {
  // Pollaczek and Khinchine: load x time / (2 x (1 - load)), with 10 ms and a load of one half: 5 ms.
  const arrivals = Array.from({ length: 20 }, (_, i) => randomArrivals(50).map((at) => at + i * 1e6)).flat();
  const times = timesAt(arrivals, SERVER);
  const mean = times.reduce((sum, time) => sum + time, 0) / times.length;
  expect(mean - 10).toBeGreaterThan(4);
  expect(mean - 10).toBeLessThan(6);
  expect(durationsOf(timesAt(randomArrivals(150), SERVER)).p95Ms).toBeGreaterThan(500);
});

test('Random arrivals are as many per second as asked for, and the same each time', () => {
  const arrivals = randomArrivals(5);
  expect(arrivals).toEqual(randomArrivals(5));
  const perS = (1000 * arrivals.length) / (arrivals.at(-1) ?? 0);
  expect(perS).toBeGreaterThan(4.5);
  expect(perS).toBeLessThan(5.5);
});

test('Recorded arrivals are those of lehr jobs --json, and another file is refused', async () => {
  const path = join(await tempFolder('arrivals'), 'jobs.json');
  const jobs = ['2026-01-01T00:00:02.500Z', '2026-01-01T00:00:01Z'].map((created_at) => ({
    id: 'x',
    created_at,
  }));
  await writeFile(path, JSON.stringify(jobs));
  expect(await recordedArrivals(path)).toEqual([0, 1500]);
  await writeFile(path, 'fast');
  await expect(recordedArrivals(path)).rejects.toThrow('wanted a number of jobs per second, or a file');
});
