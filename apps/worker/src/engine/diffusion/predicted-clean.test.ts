import { expect, test } from 'vitest';
import { correlation } from '../../../../../test/support/correlation.ts';
import { sd15Config } from '../../../../../test/support/sampler-golden.ts';
import { SeededNoise } from './noise.ts';
import { levelOfSigma, noiseSchedule } from './noise-schedule.ts';
import { predictedClean } from './predicted-clean.ts';
import { createSamplerRun } from './samplers/index.ts';
import { SAMPLER_NAMES } from './samplers/sampler.ts';
import { parseSchedulerConfig } from './scheduler-config.ts';
import { sigmaAt } from './timesteps.ts';

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
