import { describe, expect, it } from 'vitest';
import { sd15Config } from '../../../../../../test/support/sampler-golden.ts';
import { SeededNoise } from '../noise.ts';
import { noiseSchedule } from '../noise-schedule.ts';
import type { SchedulerConfig } from '../scheduler-config.ts';
import { createSamplerRun, samplersFor } from './index.ts';
import { SAMPLER_NAMES, type SamplerName } from './sampler.ts';
import { SAMPLER_KINDS, setupOf } from './unchecked-run.ts';

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
