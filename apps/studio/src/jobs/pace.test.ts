import { expect, test } from 'vitest';
import { Pace } from './pace.ts';

const at = (step: number, stage: 'denoise' | 'decode' = 'denoise') => ({
  fraction: 0,
  stage,
  step,
  steps: 20,
});

test('The time left follows from the pace of the steps, and is unknown before two of them', () => {
  const pace = new Pace();
  expect(pace.secondsLeft(at(1), 1000)).toBeUndefined();
  expect(pace.secondsLeft(at(2), 1500)).toBeUndefined();
  expect(pace.secondsLeft(at(5), 3000)).toBeCloseTo(7.5);
});

test('The pace of a stage is measured anew for another stage and for a job that starts again', () => {
  const pace = new Pace();
  pace.secondsLeft(at(1), 0);
  expect(pace.secondsLeft(at(4), 3000)).toBeCloseTo(16);
  expect(pace.secondsLeft(at(4, 'decode'), 3100)).toBeUndefined();
  pace.secondsLeft(at(8), 4000);
  expect(pace.secondsLeft(at(2), 9000)).toBeUndefined();
});
