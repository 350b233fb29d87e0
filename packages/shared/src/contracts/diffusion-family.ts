/**
 * The families of diffusion models, and the defaults of each. A distilled model (Turbo, LCM) draws in one
 * to eight steps, and only with few or with its own sampler; the defaults of Stable Diffusion would give noise.
 */
import type { PromptSyntax } from './prompts/weighted-prompt.ts';
import { type GuidanceKind, type SamplerName, SIZE_FIELDS } from './text-to-image.ts';

export const DIFFUSION_FAMILIES = [
  'sd',
  'sd-turbo',
  'lcm',
  'sdxl',
  'sdxl-turbo',
  'sdxl-lcm',
  'sdxl-refiner',
  'sd-inpaint',
  'sdxl-inpaint',
] as const;
export type DiffusionFamily = (typeof DIFFUSION_FAMILIES)[number];

export interface FamilyTraits {
  readonly defaults: {
    readonly width: number;
    readonly height: number;
    readonly steps: number;
    readonly guidance: number;
    readonly sampler: SamplerName;
    readonly prompt_syntax: PromptSyntax;
    /** The layer of the text encoder that it was trained with, counted from the last one. */
    readonly clip_skip: number;
  };
  readonly maxSide: number;
  readonly maxSteps: number;
  /** Undefined for every sampler. */
  readonly samplers: readonly SamplerName[] | undefined;
  readonly guidance: GuidanceKind;
  /** The sizes that are conditions of it. */
  readonly sizes: readonly (typeof SIZE_FIELDS)[number][];
  /** Whether every picture begins at another one. */
  readonly needsPicture: boolean;
  /** Whether it draws a part of every picture again: its UNet reads the mask and the masked picture beside the latent. */
  readonly needsMask: boolean;
  /** Default of `strength` of a picture that begins at another one; those of diffusers. */
  readonly strength: number;
  /** Cost of a pixel of a UNet row, in those of Stable Diffusion 1.5. */
  readonly costPerPixel: number;
}

/** Turbo models were distilled on steps of these, with trailing spacing. */
const TURBO_SAMPLERS: readonly SamplerName[] = ['euler', 'euler_a', 'ddim'];

/** One of two steps. */
const TURBO_STRENGTH = 0.5;

const SD: FamilyTraits = {
  defaults: {
    width: 512,
    height: 512,
    steps: 20,
    guidance: 7.5,
    sampler: 'euler',
    prompt_syntax: 'plain',
    clip_skip: 1,
  },
  maxSide: 1024,
  maxSteps: 100,
  samplers: undefined,
  guidance: 'rows',
  sizes: [],
  needsPicture: false,
  needsMask: false,
  strength: 0.8,
  costPerPixel: 1,
};

/** Floating-point operations of the published configs, counted by torch: 6.76e12 for 1024x1024, 0.80e12 for SD 1.5 at 512x512. */
const XL_COST = 2.1;

const SDXL: FamilyTraits = {
  ...SD,
  defaults: { ...SD.defaults, width: 1024, height: 1024, steps: 30, guidance: 5, clip_skip: 2 },
  // The longest side of the shapes that it was trained on; their pixels are those of 1024x1024.
  maxSide: 2048,
  sizes: SIZE_FIELDS,
  strength: 0.3,
  costPerPixel: XL_COST,
};

const lcm = (base: FamilyTraits): FamilyTraits => ({
  ...base,
  defaults: { ...base.defaults, steps: 4, guidance: 8.5, sampler: 'lcm' },
  maxSteps: 50,
  samplers: ['lcm'],
  guidance: 'embedded',
});

const inpainting = (base: FamilyTraits): FamilyTraits => ({
  ...base,
  needsPicture: true,
  needsMask: true,
  strength: 1,
});

export const FAMILY_TRAITS: Readonly<Record<DiffusionFamily, FamilyTraits>> = {
  sd: SD,
  'sd-turbo': {
    ...SD,
    defaults: { ...SD.defaults, steps: 1, guidance: 0, sampler: 'euler' },
    strength: TURBO_STRENGTH,
    samplers: TURBO_SAMPLERS,
  },
  lcm: lcm(SD),
  sdxl: SDXL,
  'sdxl-turbo': {
    ...SDXL,
    defaults: { ...SDXL.defaults, width: 512, height: 512, steps: 1, guidance: 0, sampler: 'euler_a' },
    strength: TURBO_STRENGTH,
    samplers: TURBO_SAMPLERS,
  },
  'sdxl-lcm': lcm(SDXL),
  // An aesthetic score takes the place of the target size.
  'sdxl-refiner': { ...SDXL, sizes: ['original_size', 'crops_coords_top_left'], needsPicture: true },
  'sd-inpaint': inpainting(SD),
  'sdxl-inpaint': inpainting(SDXL),
};

/** What a folder's configs say of it. */
export interface DetectedFamily {
  readonly family: DiffusionFamily;
  /** An LCM whose UNet takes no scale (a merged LoRA) has guidance like other models, and is used without. */
  readonly guidance: GuidanceKind;
  /** Width and height that it was trained at, in pixels. */
  readonly side: number | undefined;
  /** What width and height must be multiples of, in pixels, so that every halving of its UNet is undone by a doubling. */
  readonly sizeStep: number | undefined;
  /** Whether it has a VAE encoder, so that a picture can begin at another one. */
  readonly takesPictures: boolean;
  /** Whether the schedule has trailing spacing, so that every sampler can draw in one step. */
  readonly isTrailing: boolean;
}

/** In any other spacing, these samplers put a single step at the end of the schedule: it would return the noise almost unchanged. */
const NEEDS_TRAILING: readonly SamplerName[] = ['ddim', 'pndm', 'euler', 'euler_a'];

/** The least steps from noise to a picture; unknown spacing counts as trailing, and the worker decides. */
export const leastSteps = (sampler: SamplerName, isTrailing: boolean | undefined): number =>
  isTrailing === false && NEEDS_TRAILING.includes(sampler) ? 2 : 1;

/** The contents of the folder's JSON files, of which only what is here is read. */
export interface FamilyConfigs {
  readonly index: {
    readonly text_encoder?: unknown;
    readonly text_encoder_2?: unknown;
    readonly requires_aesthetics_score?: unknown;
  };
  readonly scheduler: {
    readonly _class_name?: unknown;
    readonly timestep_spacing?: unknown;
    readonly prediction_type?: unknown;
    readonly rescale_betas_zero_snr?: unknown;
  };
  readonly unet: {
    readonly time_cond_proj_dim?: unknown;
    readonly sample_size?: unknown;
    readonly in_channels?: unknown;
    readonly block_out_channels?: unknown;
  };
  readonly vae: { readonly block_out_channels?: unknown };
  readonly hasVaeEncoder: boolean;
}

/** The VAE halves a picture between its blocks; all published ones have four. */
const USUAL_BLOCKS = 4;

/** A latent of four, a mask, and the latent of the masked picture. */
const INPAINTING_CHANNELS = 9;

export function detectFamily({ index, scheduler, unet, vae, hasVaeEncoder }: FamilyConfigs): DetectedFamily {
  const isXl = isPresent(index.text_encoder_2);
  const embedsGuidance = typeof unet.time_cond_proj_dim === 'number';
  const isLcm = embedsGuidance || scheduler._class_name === 'LCMScheduler';
  const { sample_size: size } = unet;
  const vaeScale = halved(blocksOf(vae) ?? USUAL_BLOCKS);
  const unetBlocks = blocksOf(unet);
  return {
    family:
      unet.in_channels === INPAINTING_CHANNELS
        ? isXl
          ? 'sdxl-inpaint'
          : 'sd-inpaint'
        : familyOf(index, isXl, isLcm, scheduler),
    guidance: embedsGuidance ? 'embedded' : 'rows',
    side: typeof size === 'number' && Number.isInteger(size) ? size * vaeScale : undefined,
    sizeStep: unetBlocks && vaeScale * halved(unetBlocks),
    takesPictures: hasVaeEncoder,
    isTrailing: scheduler.timestep_spacing === 'trailing',
  };
}

const blocksOf = ({ block_out_channels: channels }: FamilyConfigs['vae']): number | undefined =>
  Array.isArray(channels) && channels.length > 0 ? channels.length : undefined;

/** How many times as wide a picture or a latent is before blocks that halve it between each other. */
const halved = (blocks: number): number => 2 ** (blocks - 1);

function familyOf(
  index: FamilyConfigs['index'],
  isXl: boolean,
  isLcm: boolean,
  scheduler: FamilyConfigs['scheduler'],
): DiffusionFamily {
  if (isRefiner(index)) return 'sdxl-refiner';
  if (isLcm) return isXl ? 'sdxl-lcm' : 'lcm';
  return `${isXl ? 'sdxl' : 'sd'}${isTurbo(scheduler) ? '-turbo' : ''}`;
}

/** The refiner of SDXL is an image-to-image pipeline with the second text encoder alone, and was trained with aesthetic scores. */
export const isRefiner = (index: FamilyConfigs['index']): boolean =>
  index.requires_aesthetics_score === true ||
  (isPresent(index.text_encoder_2) && Array.isArray(index.text_encoder) && !isPresent(index.text_encoder));

/** A component of model_index.json is a pair of library and class, both null when the pipeline does without. */
const isPresent = (component: unknown): boolean =>
  Array.isArray(component) && component.some((part) => part !== null);

/** Both Turbo models are published with an Euler scheduler in trailing spacing, which no other model of noise predictions is. */
function isTurbo({
  _class_name,
  timestep_spacing,
  prediction_type,
  rescale_betas_zero_snr,
}: FamilyConfigs['scheduler']): boolean {
  const isEuler =
    _class_name === 'EulerDiscreteScheduler' || _class_name === 'EulerAncestralDiscreteScheduler';
  const predictsNoise = prediction_type === undefined || prediction_type === 'epsilon';
  return isEuler && predictsNoise && timestep_spacing === 'trailing' && rescale_betas_zero_snr !== true;
}
