import { describe, expect, it } from 'vitest';
import { goldenConstants, sd15Config } from '../../../../../test/support/sampler-golden.ts';
import { betas, levelAt, levelOfAlphaCumprod, levelOfSigma, noiseSchedule } from './noise-schedule.ts';

/** diffusers computes these in float32, and the rescaling to zero terminal SNR loses digits. */
const RELATIVE = 3e-6;

const golden = goldenConstants();
const scaledLinear = sd15Config();
const linear = sd15Config({ beta_schedule: 'linear', beta_start: 0.0001, beta_end: 0.02 });
const zeroSnr = sd15Config({ rescale_betas_zero_snr: true });

describe('noiseSchedule', () => {
  it.each([
    { name: 'scaled_linear', config: scaledLinear, want: golden.scaled_linear },
    { name: 'linear', config: linear, want: golden.linear_0_0001_to_0_02 },
  ])('Betas and cumulative alphas of $name equal those of diffusers', ({ config, want }) => {
    const { alphasCumprod } = noiseSchedule(config);
    const betaValues = betas(config);
    for (const [i, timestep] of golden.timesteps.entries()) {
      expectRelative(betaValues[timestep], want.betas[i]);
      expectRelative(alphasCumprod[timestep], want.alphasCumprod[i]);
    }
  });

  it('Cumulative alphas rescaled to zero terminal SNR equal those of diffusers and end at 0', () => {
    const { alphasCumprod } = noiseSchedule(zeroSnr);
    const want = golden.scaled_linear_zero_terminal_snr;
    for (const [i, timestep] of golden.timesteps.entries()) {
      expectRelative(alphasCumprod[timestep], want.alphasCumprod[i]);
      const before = timestep === 0 ? 1 : alphasCumprod[timestep - 1];
      const rescaledBeta = 1 - alphasCumprod[timestep] / before;
      // diffusers computes these from float32 alphas, with an error of at most 2.4e-6.
      expect(Math.abs(rescaledBeta - want.betas[i])).toBeLessThan(3e-6);
    }
    expect(alphasCumprod.at(-1)).toBe(0);
  });

  it('Sigmas equal those of diffusers', () => {
    const { sigmas } = noiseSchedule(scaledLinear);
    for (const [i, timestep] of golden.timesteps.entries())
      expectRelative(sigmas[timestep], golden.sigmas[i]);
  });

  it('The last sigma of a zero-terminal-SNR schedule is finite: that of 2^-24 of the picture', () => {
    const { sigmas } = noiseSchedule(zeroSnr);
    expect(sigmas.at(-1)).toBeCloseTo(Math.sqrt(2 ** 24 - 1), 6);
    expect(sigmas.every((sigma, i) => i === 0 || sigma > sigmas[i - 1])).toBe(true);
  });

  it('A full list of betas overrides the named schedule', () => {
    const config = sd15Config({ num_train_timesteps: 3, trained_betas: [0.1, 0.5, 0.5] });
    const { alphasCumprod } = noiseSchedule(config);
    expect([...alphasCumprod].map((alpha) => alpha.toFixed(6))).toEqual(['0.900000', '0.450000', '0.225000']);
  });

  it('The betas of the cosine schedule are capped', () => {
    const values = betas(sd15Config({ beta_schedule: 'squaredcos_cap_v2' }));
    const alphaBar = (t: number) => Math.cos((((t + 0.008) / 1.008) * Math.PI) / 2) ** 2;
    expect(values[0]).toBeCloseTo(1 - alphaBar(0.001) / alphaBar(0), 12);
    expect(values[999]).toBe(0.999);
  });

  it('The schedule of a config is computed once', () => {
    const config = sd15Config();
    expect(noiseSchedule(config)).toBe(noiseSchedule(config));
  });
});

describe('a noise level', () => {
  it('A noise level is the same computed from a timestep, its cumulative alpha or its sigma', () => {
    const schedule = noiseSchedule(scaledLinear);
    const level = levelAt(schedule, 500);
    const fromSigma = levelOfSigma(schedule.sigmas[500]);
    expect(levelOfAlphaCumprod(schedule.alphasCumprod[500])).toEqual(level);
    expect(fromSigma.alpha).toBeCloseTo(level.alpha, 14);
    expect(fromSigma.sigma).toBeCloseTo(level.sigma, 14);
  });
});

function expectRelative(got: number, want: number): void {
  expect(Math.abs(got - want)).toBeLessThanOrEqual(RELATIVE * Math.abs(want));
}
