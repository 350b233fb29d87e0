import { describe, expect, it, test } from 'vitest';
import { correlation } from '../../../../../test/support/correlation.ts';
import { sd15Config } from '../../../../../test/support/sampler-golden.ts';
import { FLOAT_TYPES, floatTensor } from '../runtime/tensor.ts';
import { NoisePredictions, predictedClean } from './model-output.ts';
import { SeededNoise } from './noise.ts';
import { levelOfSigma, noiseSchedule, sigmaAt } from './noise-schedule.ts';
import { createSamplerRun, SAMPLER_KINDS, samplersFor, setupOf } from './samplers/index.ts';
import { SAMPLER_NAMES, type SamplerName } from './samplers/sampler.ts';
import { parseSchedulerConfig, type SchedulerConfig } from './scheduler-config.ts';

/**
 * A model that knows the clean latent and predicts noise or velocity. It uses only the definitions (latent = alpha clean +
 * sigma noise, velocity = alpha noise - sigma clean), so it shares no code with what is tested.
 */

const latentLength = 64;
const steps = 8;
const clean = new SeededNoise(2).draw(latentLength);
/** The rounding of float32 latents, which the model divides by the smallest sigma (0.03). */
const TOLERANCE = 2e-5;

const epsilon = sd15Config({ prediction_type: 'epsilon', set_alpha_to_one: true });
const velocity = sd15Config({ prediction_type: 'v_prediction', set_alpha_to_one: true });
const zeroSnr = sd15Config({
  prediction_type: 'v_prediction',
  rescale_betas_zero_snr: true,
  timestep_spacing: 'trailing',
  set_alpha_to_one: true,
});
const exceptPndm = SAMPLER_NAMES.filter((name) => name !== 'pndm');

describe('a model that gives velocities', () => {
  it.each(exceptPndm)('%s makes the same trajectory from velocities as from noise', (name) => {
    const byNoise = trajectory(name, epsilon);
    const byVelocity = trajectory(name, velocity);
    expect(byVelocity).toHaveLength(steps);
    for (const [i, latent] of byNoise.entries()) expectClose(byVelocity[i], latent);
  });

  it('The first call of pndm is the same from velocities as from noise; later ones average velocities of different timesteps, as in diffusers', () => {
    const byNoise = trajectory('pndm', epsilon);
    const byVelocity = trajectory('pndm', velocity);
    expectClose(byVelocity[0], byNoise[0]);
    expect(byVelocity[1]).not.toEqual(byNoise[1]);
  });
});

describe('a model that knows the clean latent', () => {
  it.each([...SAMPLER_NAMES])('%s ends at the clean latent', (name) => {
    const latents = trajectory(name, epsilon);
    expectClose(latents[latents.length - 1], clean);
  });

  it.each(samplersFor(zeroSnr))(
    '%s ends at the clean latent from pure noise too, on a zero-terminal-SNR schedule',
    (name) => {
      const latents = trajectory(name, zeroSnr);
      expectClose(latents[latents.length - 1], clean);
    },
  );
});

/** The latent after each call, from the noise of one seed. */
function trajectory(name: SamplerName, config: SchedulerConfig): Float32Array[] {
  const run = createSamplerRun({ name, config, steps, latentLength });
  const noise = new SeededNoise(1);
  const latent = noise.draw(latentLength).map((value) => value * run.initNoiseSigma);
  const input = new Float32Array(latentLength);
  return picturesLeft(name, config).map((picture) => {
    run.scaleModelInput(latent, input);
    run.step(answer(config, picture, input), latent, noise.draw);
    return latent.slice();
  });
}

/** For each call the picture's share of the latent's variance. Rounded Karras timesteps do not give their exact sigmas. */
function picturesLeft(name: SamplerName, config: SchedulerConfig): number[] {
  const { alphasCumprod } = noiseSchedule(config);
  const { timesteps, sigmas } = SAMPLER_KINDS[name].plan(setupOf({ name, config, steps }));
  return timesteps.map((timestep, i) =>
    sigmas.length > 0 ? 1 / (sigmas[i] ** 2 + 1) : alphasCumprod[timestep],
  );
}

function answer({ predictionType }: SchedulerConfig, picture: number, input: Float32Array): Float32Array {
  const alpha = Math.sqrt(picture);
  const sigma = Math.sqrt(1 - picture);
  return input.map((value, i) => {
    const noise = (value - alpha * clean[i]) / sigma;
    return predictionType === 'epsilon' ? noise : alpha * noise - sigma * clean[i];
  });
}

function expectClose(got: Float32Array, want: Float32Array): void {
  const largest = want.reduce((most, value) => Math.max(most, Math.abs(value)), 1);
  for (const [i, value] of want.entries()) expect(Math.abs(got[i] - value)).toBeLessThan(TOLERANCE * largest);
}

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

const LENGTH = 4 * 8 * 8;
const CLEAN = Float32Array.from({ length: LENGTH }, (_, i) => Math.sin(i / 20) + 0.3 * Math.cos(i));

test.each(['epsilon', 'v_prediction'])(
  'A perfect %s prediction gives the clean latent at every timestep',
  (type) => {
    const config = parseSchedulerConfig(
      JSON.stringify({ beta_schedule: 'scaled_linear', prediction_type: type }),
    );
    const noise = new SeededNoise(1).draw(LENGTH);
    for (const timestep of [0, 1, 250.5, 700, 999]) {
      const { alpha, sigma } = levelOfSigma(sigmaAt(noiseSchedule(config), timestep));
      const input = CLEAN.map((value, i) => alpha * value + sigma * noise[i]);
      const output = type === 'epsilon' ? noise : CLEAN.map((value, i) => alpha * noise[i] - sigma * value);
      const clean = predictedClean(config, timestep, input, output);
      for (let i = 0; i < LENGTH; i++) expect(clean[i]).toBeCloseTo(CLEAN[i], 4);
    }
  },
);

test.each([...SAMPLER_NAMES])(
  'The clean latent predicted by the last call of %s is close to the final latent, whatever the scale of its latents',
  (name) => {
    const config = sd15Config();
    const run = createSamplerRun({ name, config, steps: 8, latentLength: LENGTH });
    const noise = new SeededNoise(7);
    const latent = noise.draw(LENGTH).map((value) => value * run.initNoiseSigma);
    const input = new Float32Array(LENGTH);
    let clean: Float32Array = input;
    while (run.call < run.timesteps.length) {
      run.scaleModelInput(latent, input);
      const timestep = run.timesteps[run.call];
      const { alpha, sigma } = levelOfSigma(sigmaAt(noiseSchedule(config), timestep));
      // A model with a small error, different at every step.
      const output = input.map(
        (value, i) => (value - alpha * CLEAN[i]) / sigma + 0.2 * Math.sin(timestep + i * 0.7),
      );
      clean = predictedClean(config, timestep, input, output);
      run.step(output, latent, noise.draw);
    }
    expect(correlation(clean, latent)).toBeGreaterThan(0.98);
  },
);
