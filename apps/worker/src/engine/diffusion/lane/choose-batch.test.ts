import fc from 'fast-check';
import { expect, test } from 'vitest';
import { chooseBatch, type LaneMember, LEFT_OUT_STEPS } from './choose-batch.ts';

const sample = (stepsLeft: number, fields: Partial<LaneMember> = {}): LaneMember => ({
  rows: 2,
  stepsLeft,
  leftOut: 0,
  maxBatchMates: Number.POSITIVE_INFINITY,
  ...fields,
});

test('Samples with the fewest steps to go make the next step, up to the row cap', () => {
  const members = [50, 4, 20, 8, 30].map((steps) => sample(steps));
  expect(chooseBatch(members, 8).map(({ stepsLeft }) => stepsLeft)).toEqual([4, 8, 20, 30]);
});

test('All samples make the next step when the row cap allows it', () => {
  const members = [sample(9), sample(50), sample(4, { rows: 1 })];
  expect(new Set(chooseBatch(members, 8))).toEqual(new Set(members));
});

test('Of samples with equally many steps to go, those that come first in the lane step', () => {
  const members = [sample(9), sample(9), sample(9)];
  expect(chooseBatch(members, 4)).toEqual(members.slice(0, 2));
  expect(chooseBatch(members, 4)[0]).toBe(members[0]);
});

test('A long sample that was left out often goes before a short new one', () => {
  const long = sample(50, { leftOut: 46 / LEFT_OUT_STEPS + 1 });
  expect(chooseBatch([sample(4), long], 2)).toEqual([long]);
});

test('An interactive sample goes before shorter ones, and not before one that was left out for long', () => {
  const urgent = sample(50, { isUrgent: true });
  expect(chooseBatch([sample(4), urgent], 2)).toEqual([urgent]);
  const leftOut = sample(4, { leftOut: 4 / LEFT_OUT_STEPS + 1 });
  expect(chooseBatch([urgent, leftOut], 2)).toEqual([leftOut]);
});

test('A stream of short samples delays a long one by a bounded number of steps', () => {
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 100 }), fc.integer({ min: 1, max: 50 }), (long, short) => {
      let [stepsLeft, leftOut] = [long, 0];
      while (stepsLeft > 0) {
        const member = sample(stepsLeft, { leftOut });
        if (chooseBatch([sample(short), member], 2)[0] === member) stepsLeft -= 1;
        else leftOut += 1;
        expect(leftOut).toBeLessThanOrEqual(long / LEFT_OUT_STEPS + 1);
      }
    }),
  );
});

test('A sample with more rows than the cap steps alone', () => {
  expect(chooseBatch([sample(4)], 1)).toHaveLength(1);
  expect(chooseBatch([sample(4), sample(9)], 1)).toEqual([sample(4)]);
});

test('A narrower sample takes the row that a wide one leaves', () => {
  const members = [sample(4), sample(5), sample(6, { rows: 1 })];
  expect(chooseBatch(members, 3)).toEqual([members[0], members[2]]);
});

test('maxBatchMates limits the samples that step together, both when its sample is chosen and when others are', () => {
  const limited = sample(6, { maxBatchMates: 2 });
  expect(chooseBatch([limited, sample(4), sample(5)], 8).map(({ stepsLeft }) => stepsLeft)).toEqual([4, 5]);
  expect(chooseBatch([sample(4, { maxBatchMates: 2 }), sample(5), sample(6)], 8)).toHaveLength(2);
  expect(chooseBatch([sample(4), sample(3, { maxBatchMates: 1 })], 8)).toHaveLength(1);
});
