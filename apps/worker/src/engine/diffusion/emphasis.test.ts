import { expect, test } from 'vitest';
import { weighStates } from './emphasis.ts';

const mean = (values: Float32Array) => values.reduce((sum, value) => sum + value, 0) / values.length;

test('Each state is multiplied by its weight, and all by what restores the mean', () => {
  const states = Float32Array.of(1, 2, 3, 4);
  weighStates(states, [1, 3]);
  const ratio = 2.5 / ((1 + 2 + 9 + 12) / 4);
  for (const [i, value] of [1, 2, 9, 12].entries()) expect(states[i]).toBeCloseTo(value * ratio, 6);
  expect(mean(states)).toBeCloseTo(2.5, 6);
});

test('Weights of 1 change no bit', () => {
  const states = Float32Array.of(0.1, -0.7, 3.3, 1e-9);
  weighStates(states, [1, 1]);
  expect(states).toEqual(Float32Array.of(0.1, -0.7, 3.3, 1e-9));
});

test('States without a mean are weighed and not scaled by what rounding left', () => {
  const states = Float32Array.of(1, -1, 2, -2);
  weighStates(states, [1, 2]);
  expect(states).toEqual(Float32Array.of(1, -1, 4, -4));
});
