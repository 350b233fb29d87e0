import { expect, test } from 'vitest';
import { checkValues } from './finite.ts';

const row = (values: readonly number[], width: number) => ({
  values: Float32Array.from(values),
  positions: values.length / width,
  width,
});
const numeric = expect.objectContaining({ code: 'numeric-error' });

test('Values of real tokens must be finite, and those of padding need not be', () => {
  const padded = row([1, 2, Number.NaN, Number.POSITIVE_INFINITY], 2);
  expect(() => checkValues(padded, 0, false)).not.toThrow();
  expect(() => checkValues(padded, 1, false)).toThrow(numeric);
  expect(() => checkValues(row([1, Number.NEGATIVE_INFINITY], 2), 0, false)).toThrow(numeric);
});

test('Under softmax some logits may be -Infinity, never all, and none may be NaN or Infinity', () => {
  const never = Number.NEGATIVE_INFINITY;
  expect(() => checkValues(row([never, 2], 2), 0, true)).not.toThrow();
  for (const bad of [never, Number.NaN, Number.POSITIVE_INFINITY]) {
    expect(() => checkValues(row([never, bad], 2), 0, true)).toThrow(numeric);
  }
  expect(() => checkValues(row([1, 2, never, never], 2), 1, true)).toThrow(numeric);
});
