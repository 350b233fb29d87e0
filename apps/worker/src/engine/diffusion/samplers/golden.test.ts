import { describe, expect, it } from 'vitest';
import {
  configOf,
  goldenImageToImage,
  goldenNoise,
  goldenRuns,
  runGolden,
  samplerOf,
} from '../../../../../../test/support/sampler-golden.ts';
import { createSamplerRun, SAMPLER_KINDS, setupOf, uncheckedRun } from './index.ts';

const noise = goldenNoise();
const latentLength = noise.indices.length;

/** Relative; diffusers computes sigmas in float32. */
const SIGMA_TOLERANCE = 1e-6;
const EULER_LINSPACE_TOLERANCE = 5e-5;
const EULER_KARRAS_TOLERANCE = 2e-3;

describe('text to image', () => {
  it.each(goldenRuns())('The trajectory of $case equals that of diffusers', (golden) => {
    const name = samplerOf(golden);
    const config = configOf(golden);
    expect(golden.runs).not.toHaveLength(0);
    for (const want of golden.runs) {
      const options = { name, config, steps: want.steps, eta: golden.eta };
      const run = uncheckedRun({ ...options, latentLength });
      expectEach(run.timesteps, want.timesteps, () => timestepTolerance(name, config.useKarrasSigmas));
      const { sigmas } = SAMPLER_KINDS[name].plan(setupOf(options));
      expectEach(sigmas, want.sigmas ?? [], (sigma) => SIGMA_TOLERANCE * sigma);
      expectEach([run.initNoiseSigma], [want.initNoiseSigma], (sigma) => SIGMA_TOLERANCE * sigma);

      const latent = Float32Array.from(noise.init, (value) => value * run.initNoiseSigma);
      expectLatent(latent, want.initialSample);
      const input = new Float32Array(latentLength);
      run.scaleModelInput(latent, input);
      expectLatent(input, want.firstModelInput);

      const { latents, noiseUsed, announced } = runGolden(run, latent, noise);
      expect(noiseUsed).toEqual(want.noiseUsed);
      expect(announced).toEqual(want.noiseUsed.map((used) => used !== null));
      expect(latents).toHaveLength(want.prevSamples.length);
      for (const [i, sample] of want.prevSamples.entries()) expectLatent(latents[i], sample);
    }
  });
});

describe('image to image', () => {
  it.each(goldenImageToImage())('The shortened trajectory of $case equals that of diffusers', (want) => {
    const { steps, strength } = want;
    const options = { name: samplerOf(want), config: configOf(want), steps, strength };
    const run = createSamplerRun({ ...options, latentLength });
    expect(run.timesteps).toEqual(want.timesteps);
    const latent = Float32Array.from(noise.x0);
    run.addNoise(latent, Float32Array.from(noise.init));
    expectLatent(latent, want.noised);

    const { latents, noiseUsed } = runGolden(run, latent, noise);
    expect(noiseUsed).toEqual(want.noiseUsed);
    expect(latents).toHaveLength(want.prevSamples.length);
    for (const [i, sample] of want.prevSamples.entries()) expectLatent(latents[i], sample);
  });
});

function timestepTolerance(name: string, useKarrasSigmas: boolean): number {
  if (!name.startsWith('euler')) return 0;
  return name === 'euler' && useKarrasSigmas ? EULER_KARRAS_TOLERANCE : EULER_LINSPACE_TOLERANCE;
}

function expectLatent(got: Float32Array, want: readonly number[]): void {
  const largest = want.reduce((most, value) => Math.max(most, Math.abs(value)), 1);
  expectEach([...got], want, () => 1e-5 * largest);
}

function expectEach(
  got: readonly number[],
  want: readonly number[],
  tolerance: (value: number) => number,
): void {
  expect(got).toHaveLength(want.length);
  for (const [i, value] of want.entries()) {
    expect(Math.abs(got[i] - value)).toBeLessThanOrEqual(tolerance(value));
  }
}
