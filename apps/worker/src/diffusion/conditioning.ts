/**
 * The conditions of a family's UNet beside the prompt: SDXL (arXiv 2307.01952) gets a pooled embedding of the prompt and
 * the sizes that its training pictures had; a latent consistency model (arXiv 2310.04378) gets its guidance scale as an embedding,
 * in place of a second row. Values as in diffusers.
 */
import type { ConditionName } from './unet-inputs.ts';

export interface Conditioning {
  /** `rows`: guidance takes a separate row for the negative prompt. `embedded`: the graph was distilled with it. */
  readonly guidance: 'rows' | 'embedded';
  /** Length of each condition that the UNet takes. */
  readonly lengths: ReadonlyMap<ConditionName, number>;
  /** Whether an empty negative prompt is a row of zeros, as SDXL was trained, and not the embedding of no text. */
  readonly zeroesEmptyNegative: boolean;
}

/** A Stable Diffusion 1.x or 2.x. */
export const PROMPT_ALONE: Conditioning = {
  guidance: 'rows',
  lengths: new Map(),
  zeroesEmptyNegative: false,
};

/** Pairs of numbers, height or top first, as in diffusers. */
export interface SizeConditions {
  readonly originalSize?: readonly [number, number] | undefined;
  readonly cropsTopLeft?: readonly [number, number] | undefined;
  readonly targetSize?: readonly [number, number] | undefined;
}

/** One prompt, as the text encoders give it. */
export interface PromptEmbedding {
  /** `[tokens, embeddingDim]` */
  readonly hidden: Float32Array;
  /** One vector of the whole prompt; only of text encoders that give it. */
  readonly pooled: Float32Array | undefined;
}

export type Conditions = Partial<Record<ConditionName, Float32Array>>;

interface ConditionedPicture extends SizeConditions {
  readonly width: number;
  readonly height: number;
  readonly guidance: number;
}

/** The conditions of all rows of a picture, without the pooled embedding, which differs from row to row. */
export function pictureConditions(
  { lengths }: Conditioning,
  { width, height, guidance, originalSize, cropsTopLeft, targetSize }: ConditionedPicture,
): Conditions {
  const conditions: Conditions = {};
  if (lengths.has('time_ids')) {
    const size = [height, width];
    conditions.time_ids = Float32Array.from([
      ...(originalSize ?? size),
      ...(cropsTopLeft ?? [0, 0]),
      ...(targetSize ?? size),
    ]);
  }
  const guidanceLength = lengths.get('timestep_cond');
  if (guidanceLength !== undefined) conditions.timestep_cond = embedGuidance(guidance, guidanceLength);
  return conditions;
}

/**
 * `get_guidance_scale_embedding` of diffusers: sines and cosines of 1000 times the scale less one. Products are rounded to float32
 * as in torch, because sines of angles in the thousands depend on these digits.
 */
export function embedGuidance(guidance: number, length: number): Float32Array {
  const half = Math.floor(length / 2);
  const scaled = Math.fround(Math.fround(guidance - 1) * 1000);
  const decay = Math.fround(Math.log(10_000) / (half - 1));
  const out = new Float32Array(length);
  for (let i = 0; i < half; i++) {
    const angle = Math.fround(scaled * Math.fround(Math.exp(Math.fround(-decay * i))));
    out[i] = Math.sin(angle);
    out[half + i] = Math.cos(angle);
  }
  return out;
}
