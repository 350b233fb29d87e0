import { expect, test } from 'vitest';
import { FLOAT_TYPES, floatTensor } from '../runtime/tensor.ts';
import { NoisePredictions } from './noise-predictions.ts';

/** Exact in half precision. */
const NEGATIVE = [1, 2, -0.5, 0.25];
const PROMPT = [3, -4, 0.75, 0];

const predictionsOf = (type: (typeof FLOAT_TYPES)[number], rows: readonly (readonly number[])[]) =>
  new NoisePredictions(floatTensor(type, Float32Array.from(rows.flat()), [rows.length, 4]), rows.length);

for (const type of FLOAT_TYPES) {
  test(`Guidance moves a ${type} prediction away from that of the negative prompt by the scale`, () => {
    const predictions = predictionsOf(type, [[0, 0, 0, 0], NEGATIVE, PROMPT]);
    const expected = NEGATIVE.map((from, i) => from + 7.5 * (PROMPT[i] - from));
    expect([...(predictions.of(1, 2, 7.5) ?? [])]).toEqual(expected);
    expect(predictions.rows.map((row) => [...row])).toEqual([[0, 0, 0, 0], NEGATIVE, PROMPT]);
  });

  test(`Guidance of scale 1 gives the ${type} prediction for the prompt, and of scale 0 that for the negative prompt`, () => {
    const predictions = predictionsOf(type, [NEGATIVE, PROMPT]);
    expect([...(predictions.of(0, 2, 1) ?? [])]).toEqual(PROMPT);
    expect([...(predictions.of(0, 2, 0) ?? [])]).toEqual(NEGATIVE);
    expect([...(predictions.of(1, 1, 7.5) ?? [])]).toEqual(PROMPT);
  });

  test(`A sample has no ${type} prediction when one of its rows is not finite, and others have theirs`, () => {
    for (const bad of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
      const predictions = predictionsOf(type, [NEGATIVE, PROMPT, [bad, 1, 1, 1], PROMPT, NEGATIVE]);
      expect(predictions.badRows).toEqual([2]);
      expect(predictions.of(0, 2, 7.5)).toBeDefined();
      expect(predictions.of(2, 2, 7.5)).toBeUndefined();
      expect(predictions.of(1, 2, 7.5)).toBeUndefined();
      expect(predictions.of(2, 1, 7.5)).toBeUndefined();
      expect(predictions.of(4, 1, 7.5)).toBeDefined();
    }
  });
}
