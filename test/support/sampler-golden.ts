/** Reads test/golden/schedulers. Its README describes the numbers and how they were made. */
import { readFileSync } from 'node:fs';
import type { SamplerName, SamplerRun } from '../../apps/worker/src/engine/diffusion/samplers/sampler.ts';
import {
  parseSchedulerConfig,
  type SchedulerConfig,
} from '../../apps/worker/src/engine/diffusion/scheduler-config.ts';

interface GoldenCase {
  readonly case: string;
  readonly scheduler: string;
  readonly config: Readonly<Record<string, unknown>>;
}

export interface GoldenRuns extends GoldenCase {
  readonly eta: number;
  readonly runs: readonly {
    readonly steps: number;
    readonly timesteps: readonly number[];
    readonly sigmas: readonly number[] | null;
    readonly initNoiseSigma: number;
    readonly noiseUsed: readonly (number | null)[];
    readonly initialSample: readonly number[];
    readonly firstModelInput: readonly number[];
    readonly prevSamples: readonly (readonly number[])[];
  }[];
}

export interface GoldenImageToImage extends GoldenCase {
  readonly steps: number;
  readonly strength: number;
  readonly timesteps: readonly number[];
  readonly noised: readonly number[];
  readonly noiseUsed: readonly (number | null)[];
  readonly prevSamples: readonly (readonly number[])[];
}

export interface GoldenNoise {
  /** Indices of the kept values in the flat latent of 256 values. */
  readonly indices: readonly number[];
  readonly init: readonly number[];
  readonly x0: readonly number[];
  readonly steps: readonly (readonly number[])[];
}

export interface GoldenConstants {
  readonly timesteps: readonly number[];
  readonly sigmas: readonly number[];
  readonly scaled_linear: GoldenBetas;
  readonly linear_0_0001_to_0_02: GoldenBetas;
  readonly scaled_linear_zero_terminal_snr: GoldenBetas;
}

export interface GoldenBetas {
  readonly betas: readonly number[];
  readonly alphasCumprod: readonly number[];
}

/** Table name to step count to the timesteps and sigmas of the class. */
export type GoldenTimesteps = Readonly<
  Record<
    string,
    Record<string, { readonly timesteps: readonly number[]; readonly sigmas?: readonly number[] }>
  >
>;

export const goldenRuns = (): readonly GoldenRuns[] => read<{ cases: GoldenRuns[] }>('runs.json').cases;
export const goldenImageToImage = (): readonly GoldenImageToImage[] =>
  read<{ cases: GoldenImageToImage[] }>('img2img.json').cases;
export const goldenNoise = (): GoldenNoise => read('noise.json');
export const goldenConstants = (): GoldenConstants => read('constants.json');
export const goldenTimesteps = (): GoldenTimesteps => read('timesteps-table.json');
/** Beta schedule to step count to the timesteps of dpmpp_2m_karras. */
export const goldenKarrasTimesteps = (): Readonly<
  Record<'scaled_linear' | 'linear', Record<string, readonly number[]>>
> => read('karras-timesteps.json');

/** The scheduler_config.json of Stable Diffusion 1.5, with the given fields set. */
export function sd15Config(fields: Readonly<Record<string, unknown>> = {}): SchedulerConfig {
  const sd15 = {
    num_train_timesteps: 1000,
    beta_start: 0.00085,
    beta_end: 0.012,
    beta_schedule: 'scaled_linear',
    steps_offset: 1,
    clip_sample: false,
    set_alpha_to_one: false,
    skip_prk_steps: true,
    trained_betas: null,
  };
  return parseSchedulerConfig(JSON.stringify({ ...sd15, ...fields }));
}

export const configOf = ({ config }: GoldenCase): SchedulerConfig =>
  parseSchedulerConfig(JSON.stringify(config));

/** Lehr's name of a diffusers class with its options. */
export function samplerOf({ scheduler, config }: GoldenCase): SamplerName {
  if (scheduler === 'DPMSolverMultistepScheduler') {
    if (config.algorithm_type === 'sde-dpmsolver++') return 'dpmpp_2m_sde_karras';
    return config.use_karras_sigmas ? 'dpmpp_2m_karras' : 'dpmpp_2m';
  }
  const names: Readonly<Record<string, SamplerName>> = {
    DDIMScheduler: 'ddim',
    EulerDiscreteScheduler: 'euler',
    EulerAncestralDiscreteScheduler: 'euler_a',
    LCMScheduler: 'lcm',
    PNDMScheduler: 'pndm',
    UniPCMultistepScheduler: 'unipc',
  };
  return names[scheduler];
}

/**
 * Runs `run` to its end with the fake model of the goldens, and returns the latent after each call. The n-th draw of noise
 * is `noise.steps[n]`; `noiseUsed` holds the index of each call's draw, null for none.
 */
export function runGolden(run: SamplerRun, latent: Float32Array, noise: GoldenNoise) {
  const input = new Float32Array(latent.length);
  const latents: Float32Array[] = [];
  const noiseUsed: (number | null)[] = [];
  /** Of each call, whether the run says before it that it will draw. */
  const announced: boolean[] = [];
  let draws = 0;
  while (run.call < run.timesteps.length) {
    const timestep = run.timesteps[run.call];
    run.scaleModelInput(latent, input);
    const output = input.map((x, i) => 0.1 * x + Math.sin(0.01 * timestep + 0.001 * noise.indices[i]));
    const before = draws;
    announced.push(run.drawsNoise);
    run.step(output, latent, () => Float32Array.from(noise.steps[draws++]));
    noiseUsed.push(draws > before ? before : null);
    latents.push(latent.slice());
  }
  return { latents, noiseUsed, announced };
}

function read<T>(file: string): T {
  return JSON.parse(readFileSync(new URL(`../golden/schedulers/${file}`, import.meta.url), 'utf8'));
}
