import { expect, test } from 'vitest';
import { admit, type LaneMember, type LaneState } from './admit.ts';

const sample = (stepsLeft: number, fields: Partial<LaneMember> = {}): LaneMember => ({
  rows: 2,
  stepsLeft,
  arrivedAt: 0,
  maxBatchMates: Number.POSITIVE_INFINITY,
  ...fields,
});

const admitted = (waiting: readonly LaneMember[], lane: Partial<LaneState<LaneMember>> = {}): LaneMember[] =>
  admit({ waiting, running: [], rowCap: 8, now: 0, ...lane });

test('Samples with the fewest steps join first, up to the row cap', () => {
  const waiting = [50, 4, 20, 8, 30].map((steps) => sample(steps));
  expect(admitted(waiting).map(({ stepsLeft }) => stepsLeft)).toEqual([4, 8, 20, 30]);
});

test('A long sample that has waited long joins before a short new one', () => {
  const waiting = [sample(4), sample(50, { arrivedAt: -5000 })];
  expect(admitted(waiting, { rowCap: 2 })).toEqual([waiting[1]]);
});

test('A stream of short samples never keeps a long sample out permanently', () => {
  const long = sample(50);
  for (let second = 0; second < 60; second++) {
    const now = second * 1000;
    const [joined] = admitted([sample(4, { arrivedAt: now }), long], { rowCap: 2, now });
    if (joined === long) return;
  }
  expect.unreachable('the long sample never joined');
});

test('Samples join a running lane only in its free rows', () => {
  const waiting = [sample(4), sample(5), sample(6)];
  expect(admitted(waiting, { running: [sample(9), sample(9)] })).toHaveLength(2);
  expect(admitted(waiting, { running: [sample(9), sample(9), sample(9), sample(9)] })).toEqual([]);
});

test('A sample with more rows than the cap joins an empty lane', () => {
  expect(admitted([sample(4)], { rowCap: 1 })).toHaveLength(1);
  expect(admitted([sample(4)], { rowCap: 1, running: [sample(9)] })).toEqual([]);
});

test('A wide sample that must wait is not overtaken by narrower samples behind it', () => {
  const waiting = [sample(4), sample(5, { rows: 1 })];
  const running = [sample(9), sample(9), sample(9), sample(9, { rows: 1 })];
  expect(admitted(waiting, { running })).toEqual([]);
});

test('maxBatchMates limits the samples in the lane, both when its sample joins and when others do', () => {
  const limited = sample(4, { maxBatchMates: 2 });
  expect(admitted([limited], { running: [sample(9), sample(9)] })).toEqual([]);
  expect(admitted([limited, sample(5), sample(6)])).toHaveLength(2);
  expect(admitted([sample(4)], { running: [sample(9, { maxBatchMates: 1 })] })).toEqual([]);
});
