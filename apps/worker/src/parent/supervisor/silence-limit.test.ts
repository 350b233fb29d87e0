import { expect, test } from 'vitest';
import { SilenceLimit } from './silence-limit.ts';

const measured = (configuredMs: number, stepMs: readonly number[]): SilenceLimit => {
  const limit = new SilenceLimit(configuredMs);
  for (const ms of stepMs) limit.stepped('lane', ms);
  return limit;
};
const steps = (count: number, ms: number): number[] => Array.from({ length: count }, () => ms);

test('An engine may be silent for the configured time until a hundred steps of its lane were measured', () => {
  expect(measured(120_000, steps(99, 20_000)).ms('lane')).toBe(120_000);
  expect(measured(120_000, steps(100, 20_000)).ms('lane')).toBe(60_000);
  expect(measured(120_000, steps(100, 20_000)).ms('other lane')).toBe(120_000);
  expect(measured(120_000, steps(100, 20_000)).ms(undefined)).toBe(120_000);
});

test('The limit is three times the 99th percentile of the last 200 steps, so one long step does not raise it', () => {
  const limit = measured(120_000, [...steps(10, 90_000), ...steps(199, 15_000), 80_000]);
  expect(limit.ms('lane')).toBe(45_000);
});

test('A lane of short steps keeps a quarter of the configured time, and one of long steps gets at most ten times of it', () => {
  expect(measured(120_000, steps(100, 10)).ms('lane')).toBe(30_000);
  expect(measured(120_000, steps(100, 1_000_000)).ms('lane')).toBe(1_200_000);
});
