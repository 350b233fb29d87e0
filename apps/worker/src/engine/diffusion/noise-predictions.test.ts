import { expect, test } from 'vitest';
import { FLOAT_TYPES, floatTensor } from '../runtime/tensor.ts';
import { NoisePredictions } from './noise-predictions.ts';

/** Exact in half precision. */
const NEGATIVE = [1, 2, -0.5, 0.25];
const PROMPT = [3, -4, 0.75, 0];

const predictionsOf = (type: (typeof FLOAT_TYPES)[number], rows: readonly (readonly number[])[]) =>
  new NoisePredictions(floatTensor(type, Float32Array.from(rows.flat()), [rows.length, 4]), rows.length);

const LATENT = Float32Array.of(8, -16, 0.5, 1);

/** The values of the output for a sample. */
const outputOf = (
  predictions: NoisePredictions,
  firstRow: number,
  rows: 1 | 2,
  guidance: number,
): number[] => [...predictions.outputFor(firstRow, rows, guidance).mixed({ latent: 0, output: 1 }, LATENT)];

/** Whether the output for a sample is finite, as its latent sees it. */
function isFiniteFor(
  predictions: NoisePredictions,
  firstRow: number,
  rows: 1 | 2,
  guidance: number,
): boolean {
  const output = predictions.outputFor(firstRow, rows, guidance);
  output.mixInto(LATENT.slice(), { latent: 1, output: 0.5 });
  return output.isFinite;
}

for (const type of FLOAT_TYPES) {
  test(`Guidance moves a ${type} prediction away from that of the negative prompt by the scale`, () => {
    const predictions = predictionsOf(type, [[0, 0, 0, 0], NEGATIVE, PROMPT]);
    const expected = NEGATIVE.map((from, i) => from + 7.5 * (PROMPT[i] - from));
    expect(outputOf(predictions, 1, 2, 7.5)).toEqual(expected);
    expect(predictions.rows.map((row) => [...row])).toEqual([[0, 0, 0, 0], NEGATIVE, PROMPT]);
  });

  test(`Guidance of scale 1 gives the ${type} prediction for the prompt, and of scale 0 that for the negative prompt`, () => {
    const predictions = predictionsOf(type, [NEGATIVE, PROMPT]);
    expect(outputOf(predictions, 0, 2, 1)).toEqual(PROMPT);
    expect(outputOf(predictions, 0, 2, 0)).toEqual(NEGATIVE);
    expect(outputOf(predictions, 1, 1, 7.5)).toEqual(PROMPT);
  });

  test(`The ${type} output for a sample is not finite when one of its rows is not, and that for others is`, () => {
    for (const bad of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
      const predictions = predictionsOf(type, [NEGATIVE, PROMPT, [bad, 1, 1, 1], PROMPT, NEGATIVE]);
      expect(predictions.badRows).toEqual([2]);
      expect(isFiniteFor(predictions, 0, 2, 7.5)).toBe(true);
      expect(isFiniteFor(predictions, 2, 2, 7.5)).toBe(false);
      expect(isFiniteFor(predictions, 1, 2, 7.5)).toBe(false);
      expect(isFiniteFor(predictions, 2, 1, 7.5)).toBe(false);
      expect(isFiniteFor(predictions, 4, 1, 7.5)).toBe(true);
    }
  });

  test(`The ${type} output for a sample is summed with its latent and with noise in one pass, as one after the other`, () => {
    const predictions = predictionsOf(type, [NEGATIVE, PROMPT]);
    const output = outputOf(predictions, 0, 2, 3);
    const mix = { latent: 0.5, output: -0.25 };
    const sums = [...LATENT].map((value, i) => 0.5 * value - 0.25 * output[i]);
    expect([...predictions.outputFor(0, 2, 3).mixed(mix, LATENT)]).toEqual(sums);
    const latent = LATENT.slice();
    predictions.outputFor(0, 2, 3).mixInto(latent, mix, { weight: 2, values: Float32Array.of(1, 2, 3, 4) });
    expect([...latent]).toEqual(sums.map((sum, i) => sum + 2 * (i + 1)));
  });
}

test('A sum over more values than one span has each value once, and a value that is not finite is found in any span', () => {
  const length = 2500;
  const row = Float32Array.from({ length }, (_, i) => i - 1000);
  const latent = Float32Array.from({ length }, (_, i) => i % 7);
  const outputOfRow = (values: Float32Array) =>
    new NoisePredictions({ type: 'float32', data: values, dims: [1, length] }, 1).outputFor(0, 1, 1);
  const whole = outputOfRow(row);
  expect([...whole.mixed({ latent: 2, output: 0.5 }, latent)]).toEqual(
    [...row].map((value, i) => 2 * latent[i] + 0.5 * value),
  );
  expect(whole.isFinite).toBe(true);
  for (const at of [0, 1023, 1024, 2047, 2499]) {
    const output = outputOfRow(row.map((value, i) => (i === at ? Number.NaN : value)));
    output.mixed({ latent: 2, output: 0.5 }, latent);
    expect(output.isFinite).toBe(false);
  }
});
