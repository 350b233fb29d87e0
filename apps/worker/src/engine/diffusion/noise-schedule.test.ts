import { describe, expect, it } from 'vitest';
import {
  goldenConstants,
  goldenKarrasTimesteps,
  goldenTimesteps,
  sd15Config,
} from '../../../../../test/support/sampler-golden.ts';
import {
  betas,
  karrasSigmas,
  lcmTimesteps,
  levelAt,
  levelOfAlphaCumprod,
  levelOfSigma,
  multistepTimesteps,
  noiseSchedule,
  roundHalfToEven,
  sigmaAt,
  timestepOf,
  wholeTimesteps,
} from './noise-schedule.ts';
import { SAMPLER_KINDS, setupOf } from './samplers/index.ts';
import type { SamplerName } from './samplers/sampler.ts';

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

/** Relative; diffusers computes sigmas in float32. */
const SIGMA_TOLERANCE = 1e-6;

const schedule = noiseSchedule(sd15Config());

describe('the timesteps of a run', () => {
  const names: Readonly<Record<string, SamplerName>> = {
    ddim: 'ddim',
    euler: 'euler',
    dpmpp: 'dpmpp_2m',
    dpmpp_karras: 'dpmpp_2m_karras',
    lcm: 'lcm',
    pndm: 'pndm',
    unipc: 'unipc',
  };

  it.each(Object.entries(goldenTimesteps()))(
    'Timesteps and sigmas equal those of diffusers in every row of %s',
    (table, rows) => {
      const [family, spacing] = table.split('_');
      const isKarras = spacing === 'karras';
      const config = sd15Config(isKarras ? { use_karras_sigmas: true } : { timestep_spacing: spacing });
      const name = names[table] ?? names[family];
      // Whole timesteps are exact. Fractional ones differ by float32 rounding, with Karras by that of logarithms.
      const tolerance = family === 'euler' ? (isKarras ? 2e-3 : 5e-5) : 0;
      for (const [steps, want] of Object.entries(rows)) {
        const plan = SAMPLER_KINDS[name].plan(setupOf({ name, config, steps: Number(steps) }));
        expectWithin(plan.timesteps, want.timesteps, () => tolerance);
        expectWithin(plan.sigmas, want.sigmas ?? [], (sigma) => SIGMA_TOLERANCE * sigma);
      }
    },
  );

  it.each([
    { beta_schedule: 'scaled_linear' },
    { beta_schedule: 'linear', beta_start: 0.0001, beta_end: 0.02 },
  ] as const)(
    'Karras timesteps equal those of diffusers for every step count from 2 to 100 on $beta_schedule betas',
    (betas) => {
      const config = sd15Config(betas);
      const want = goldenKarrasTimesteps()[betas.beta_schedule];
      expect(Object.keys(want)).toHaveLength(99);
      const got = Object.keys(want).map((steps) => {
        const setup = setupOf({ name: 'dpmpp_2m_karras', config, steps: Number(steps) });
        return [steps, SAMPLER_KINDS.dpmpp_2m_karras.plan(setup).timesteps];
      });
      expect(Object.fromEntries(got)).toEqual(want);
    },
  );

  it('Timesteps round halves to even, as numpy does and Math.round does not', () => {
    const options = { trainTimesteps: 1000, stepsOffset: 1 };
    expect(multistepTimesteps({ ...options, spacing: 'linspace', steps: 6 })).toContain(166);
    expect(multistepTimesteps({ ...options, spacing: 'linspace', steps: 30 })).toContain(499);
    const trailing = wholeTimesteps({ ...options, spacing: 'trailing', steps: 16 });
    expect(trailing).toEqual(expect.arrayContaining([811, 561, 311, 61]));
  });

  it('Trailing spacing gives exactly as many timesteps as steps, unlike diffusers for 61 steps', () => {
    const timesteps = wholeTimesteps({
      spacing: 'trailing',
      steps: 61,
      trainTimesteps: 1000,
      stepsOffset: 1,
    });
    expect(timesteps).toHaveLength(61);
    expect(Math.min(...timesteps)).toBeGreaterThanOrEqual(0);
  });

  it('LCM has at most as many timesteps as its grid', () => {
    expect(lcmTimesteps(4, 1000, 50, 1)).toEqual([999, 759, 499, 259]);
    expect(lcmTimesteps(51, 1000, 50, 1)).toHaveLength(50);
    expect(lcmTimesteps(4, 1000, 50, 0.01)).toEqual([19]);
  });
});

describe('sigmas between timesteps', () => {
  it('A timestep converts to its sigma and back', () => {
    for (const timestep of [0, 1, 500, 998, 999]) {
      expect(sigmaAt(schedule, timestep)).toBeCloseTo(schedule.sigmas[timestep], 12);
      expect(timestepOf(schedule, schedule.sigmas[timestep])).toBeCloseTo(timestep, 9);
    }
  });

  it('A sigma outside of the schedule gives the first or last timestep', () => {
    expect(timestepOf(schedule, 1e-6)).toBe(0);
    expect(timestepOf(schedule, 1e6)).toBe(999);
  });

  it('Karras sigmas begin at the largest and end at the smallest; a single one is the largest', () => {
    const sigmas = karrasSigmas(14.6, 0.03, 5);
    expect(sigmas[0]).toBeCloseTo(14.6, 12);
    expect(sigmas[4]).toBeCloseTo(0.03, 12);
    expect(karrasSigmas(14.6, 0.03, 1)[0]).toBeCloseTo(14.6, 12);
  });
});

describe('roundHalfToEven', () => {
  it('Halves round to the even neighbour and other values to the nearest', () => {
    expect([0.5, 1.5, 2.5, 2.4, 2.6, -0.5, -1.5].map((value) => roundHalfToEven(value) + 0)).toEqual([
      0, 2, 2, 2, 3, 0, -2,
    ]);
  });
});

function expectWithin(
  got: readonly number[],
  want: readonly number[],
  tolerance: (value: number) => number,
): void {
  expect(got).toHaveLength(want.length);
  for (const [i, value] of want.entries()) {
    expect(Math.abs(got[i] - value)).toBeLessThanOrEqual(tolerance(value));
  }
}
