import { describe, expect, it } from 'vitest';
import { goldenConstants, sd15Config } from '../../../../test/support/sampler-golden.ts';
import { betas, levelAt, levelOfAlphaCumprod, levelOfSigma, noiseSchedule } from './noise-schedule.ts';

/** diffusers holds these in float32, and the sigma of timestep 0 loses digits in its `1 - alphas_cumprod`. */
const RELATIVE = 3e-5;

const golden = goldenConstants();
const scaledLinear = sd15Config();
const linear = sd15Config({ beta_schedule: 'linear', beta_start: 0.0001, beta_end: 0.02 });
const zeroSnr = sd15Config({ rescale_betas_zero_snr: true });

describe('noiseSchedule', () => {
  it.each([
    { name: 'scaled_linear', config: scaledLinear, want: golden.scaled_linear },
    { name: 'linear', config: linear, want: golden.linear_0_0001_to_0_02 },
  ])("has diffusers' betas and cumulative alphas for $name", ({ config, want }) => {
    const { alphasCumprod } = noiseSchedule(config);
    const betaValues = betas(config);
    for (const [i, timestep] of golden.timesteps.entries()) {
      expectRelative(betaValues[timestep], want.betas[i]);
      expectRelative(alphasCumprod[timestep], want.alphasCumprod[i]);
    }
  });

  it("has diffusers' cumulative alphas when rescaled to zero terminal SNR, 0 at the end", () => {
    const { alphasCumprod } = noiseSchedule(zeroSnr);
    const want = golden.scaled_linear_zero_terminal_snr;
    for (const [i, timestep] of golden.timesteps.entries()) {
      expectRelative(alphasCumprod[timestep], want.alphasCumprod[i]);
      const before = timestep === 0 ? 1 : alphasCumprod[timestep - 1];
      const rescaledBeta = 1 - alphasCumprod[timestep] / before;
      // The reference gets these back from float32 alphas, with an error of 2.4e-6 at worst.
      expect(Math.abs(rescaledBeta - want.betas[i])).toBeLessThan(3e-6);
    }
    expect(alphasCumprod.at(-1)).toBe(0);
  });

  it("has diffusers' sigmas", () => {
    const { sigmas } = noiseSchedule(scaledLinear);
    for (const [i, timestep] of golden.timesteps.entries())
      expectRelative(sigmas[timestep], golden.sigmas[i]);
  });

  it('keeps the last sigma of a zero-terminal-SNR schedule finite: that of 2^-24 of the picture', () => {
    const { sigmas } = noiseSchedule(zeroSnr);
    expect(sigmas.at(-1)).toBeCloseTo(Math.sqrt(2 ** 24 - 1), 6);
    expect(sigmas.every((sigma, i) => i === 0 || sigma > sigmas[i - 1])).toBe(true);
  });

  it('takes betas given in full over the named schedule', () => {
    const config = sd15Config({ num_train_timesteps: 3, trained_betas: [0.1, 0.5, 0.5] });
    const { alphasCumprod } = noiseSchedule(config);
    expect([...alphasCumprod].map((alpha) => alpha.toFixed(6))).toEqual(['0.900000', '0.450000', '0.225000']);
  });

  it('caps the betas of the cosine schedule', () => {
    const values = betas(sd15Config({ beta_schedule: 'squaredcos_cap_v2' }));
    const alphaBar = (t: number) => Math.cos((((t + 0.008) / 1.008) * Math.PI) / 2) ** 2;
    expect(values[0]).toBeCloseTo(1 - alphaBar(0.001) / alphaBar(0), 12);
    expect(values[999]).toBe(0.999);
  });

  it('works a config out once', () => {
    const config = sd15Config();
    expect(noiseSchedule(config)).toBe(noiseSchedule(config));
  });
});

describe('a noise level', () => {
  it('is the same from a timestep, its cumulative alpha and its sigma', () => {
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
