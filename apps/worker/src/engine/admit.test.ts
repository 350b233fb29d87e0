import { expect, test } from 'vitest';
import { admit, type LaneRoom, type Waiting } from './admit.ts';

const EMPTY: LaneRoom = { rowCap: 8, rows: 0, samples: 0, maxBatchMates: Number.POSITIVE_INFINITY };
const waiting = (steps: number, more: Partial<Waiting> = {}): Waiting => ({
  rows: 2,
  steps,
  waitedMs: 0,
  maxBatchMates: Number.POSITIVE_INFINITY,
  ...more,
});

test('the shortest go first, up to the cap', () => {
  const samples = [50, 4, 20, 8, 30].map((steps) => waiting(steps));
  expect(admit(samples, EMPTY).map((sample) => sample.steps)).toEqual([4, 8, 20, 30]);
});

test('a long sample that has waited long goes before a short newcomer', () => {
  const samples = [waiting(4), waiting(50, { waitedMs: 5000 })];
  expect(admit(samples, { ...EMPTY, rowCap: 2 })).toEqual([samples[1]]);
});

test('no stream of short samples keeps a long one out for ever', () => {
  let long = waiting(50);
  for (let second = 0; second < 60; second++) {
    const [joined] = admit([waiting(4), long], { ...EMPTY, rowCap: 2 });
    if (joined === long) return;
    long = { ...long, waitedMs: long.waitedMs + 1000 };
  }
  expect.unreachable('the long sample never joined');
});

test('only the free rows of a running lane are given away', () => {
  const samples = [waiting(4), waiting(5), waiting(6)];
  expect(admit(samples, { ...EMPTY, rows: 4, samples: 2 })).toHaveLength(2);
  expect(admit(samples, { ...EMPTY, rows: 8, samples: 4 })).toEqual([]);
});

test('a sample wider than the cap runs alone rather than never', () => {
  expect(admit([waiting(4)], { ...EMPTY, rowCap: 1 })).toHaveLength(1);
  expect(admit([waiting(4)], { ...EMPTY, rowCap: 1, rows: 2, samples: 1 })).toEqual([]);
});

test('a wide sample that must wait is not overtaken by narrower ones behind it', () => {
  const samples = [waiting(4), waiting(5, { rows: 1 })];
  expect(admit(samples, { ...EMPTY, rows: 7, samples: 4 })).toEqual([]);
});

test('a sample with a limit on batch mates neither joins a larger batch nor lets one form around it', () => {
  const suspect = waiting(4, { maxBatchMates: 2 });
  expect(admit([suspect], { ...EMPTY, rows: 4, samples: 2 })).toEqual([]);
  expect(admit([suspect, waiting(5), waiting(6)], EMPTY)).toHaveLength(2);
  expect(admit([waiting(4)], { ...EMPTY, rows: 2, samples: 1, maxBatchMates: 1 })).toEqual([]);
});
