/**
 * The conditions of a family's UNet beside the prompt: SDXL (arXiv 2307.01952) gets a pooled embedding of the prompt and
 * the sizes that its training pictures had; a latent consistency model (arXiv 2310.04378) gets its guidance scale as an embedding,
 * in place of a second row. Values as in diffusers.
 */

import { LehrError } from '@lehr/shared';
import type { PromptCut, PromptSize } from '../protocol/messages.ts';

export interface Conditioning {
  /** `rows`: guidance takes a separate row for the negative prompt. `embedded`: the graph was distilled with it. */
  readonly guidance: 'rows' | 'embedded';
  /** Length of each condition that the UNet takes. */
  readonly lengths: ReadonlyMap<ConditionName, number>;
  /** Whether an empty negative prompt is a row of zeros, as SDXL was trained, and not the embedding of no text. */
  readonly zeroesEmptyNegative: boolean;
  /** Whether it reads the mask and the masked picture beside the latent: it was trained for inpainting. */
  readonly readsMask: boolean;
}

/** A Stable Diffusion 1.x or 2.x. */
export const PROMPT_ALONE: Conditioning = {
  guidance: 'rows',
  lengths: new Map(),
  zeroesEmptyNegative: false,
  readsMask: false,
};

/** Pairs of numbers, height or top first, as in diffusers. */
interface SizeConditions {
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
  /** How much of the prompt the text encoder read, when it is longer than that. */
  readonly cut?: PromptCut | undefined;
  /** Of a prompt in chunks, which is read whole. */
  readonly size?: PromptSize | undefined;
}

export type Conditions = Partial<Record<ConditionName, Float32Array>>;

interface ConditionedPicture extends SizeConditions {
  readonly width: number;
  readonly height: number;
  readonly guidance: number;
}

export type RowKind = 'prompt' | 'negative';

/** The refiner of SDXL was trained with the scores that people gave its pictures, 1 to 10. The defaults of diffusers. */
const AESTHETIC_SCORES: Readonly<Record<RowKind, number>> = { prompt: 6, negative: 2.5 };
/** Original size, crop and score; SDXL has the target size in place of the score, and so six. */
const TIME_IDS_WITH_SCORE = 5;

/** The conditions of a row of a picture, without the pooled embedding of its prompt. */
export function pictureConditions(
  { lengths }: Conditioning,
  { width, height, guidance, originalSize, cropsTopLeft, targetSize }: ConditionedPicture,
  row: RowKind,
): Conditions {
  const conditions: Conditions = {};
  const timeIds = lengths.get('time_ids');
  if (timeIds !== undefined) {
    const size = [height, width];
    const isScored = timeIds === TIME_IDS_WITH_SCORE;
    // diffusers gives the crop to the refiner's prompt alone.
    const crop = isScored && row === 'negative' ? [0, 0] : (cropsTopLeft ?? [0, 0]);
    const last = isScored ? [AESTHETIC_SCORES[row]] : (targetSize ?? size);
    conditions.time_ids = Float32Array.from([...(originalSize ?? size), ...crop, ...last]);
  }
  const guidanceLength = lengths.get('timestep_cond');
  if (guidanceLength !== undefined) conditions.timestep_cond = embedGuidance(guidance, guidanceLength);
  return conditions;
}

/**
 * `get_guidance_scale_embedding` of diffusers: sines and cosines of 1000 times the scale less one. Products are rounded to float32
 * as in torch, because sines of angles in the thousands depend on these digits.
 */
function embedGuidance(guidance: number, length: number): Float32Array {
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

/** What a UNet may take for each row beside latent, timestep and prompt; the names of diffusers. */
const CONDITION_NAMES = ['text_embeds', 'time_ids', 'timestep_cond'] as const;
export type ConditionName = (typeof CONDITION_NAMES)[number];

/** What every UNet takes; the names of diffusers. */
const REQUIRED = ['sample', 'timestep', 'encoder_hidden_states'] as const;

/** An input of a graph; `rank` is undefined when the graph does not say. */
export interface GraphInput {
  readonly name: string;
  readonly rank: number | undefined;
}

export interface UnetInputNames {
  readonly sample: string;
  readonly timestep: string;
  readonly text: string;
  /** The graph's own name of each condition that it takes. */
  readonly conditions: ReadonlyMap<ConditionName, string>;
}

/**
 * Finds the inputs of a UNet, or of a ControlNet, by what they are for. Optimum and diffusers' own scripts give them the names of diffusers; torch's
 * dynamo exporter puts the name of a dictionary in front; other scripts choose other names.
 *
 * Throws LehrError `model-unavailable` when an input is missing, or is one that Lehr has no value for.
 */
export function unetInputNames(inputs: readonly GraphInput[], graph = 'unet'): UnetInputNames {
  const find = (name: string, wanted: string, isRank: (rank: number) => boolean): string =>
    required(inputs, graph, name, wanted, isRank);
  const sample = find('sample', 'the latent, of rank 4', (rank) => rank === 4);
  const timestep = find('timestep', 'of rank 0 or 1', (rank) => rank === 0 || rank === 1);
  const text = find('encoder_hidden_states', 'of rank 3', (rank) => rank === 3);
  const conditions = new Map(
    CONDITION_NAMES.flatMap((name): [ConditionName, string][] => {
      const own = named(inputs, name);
      return own ? [[name, own.name]] : [];
    }),
  );
  const used = new Set([sample, timestep, text, ...conditions.values()]);
  const extra = inputs.find(({ name }) => !used.has(name));
  if (extra) {
    const known = [...REQUIRED, ...CONDITION_NAMES].join(', ');
    throw unusable(
      `The ${graph} graph wants an input "${extra.name}" that Lehr does not know. Export it with these inputs alone: ${known}.`,
    );
  }
  return { sample, timestep, text, conditions };
}

/** By its name, or else as the only input of its rank. */
function required(
  inputs: readonly GraphInput[],
  graph: string,
  name: string,
  wanted: string,
  isRank: (rank: number) => boolean,
): string {
  const found = named(inputs, name);
  if (found) return found.name;
  const alike = inputs.filter(({ rank }) => rank !== undefined && isRank(rank));
  if (alike.length === 1) return alike[0].name;
  const names = inputs.map((input) => input.name).join(', ');
  throw unusable(
    `The ${graph} graph has no input "${name}" (${wanted}; it has ${names}). Exporters leave out an argument that is a number and ` +
      `not a tensor, or that is not used: export with a tensor for each of ${REQUIRED.join(', ')}.`,
  );
}

/** The input of this name, also behind that of a dictionary. */
export const named = (inputs: readonly GraphInput[], name: string): GraphInput | undefined =>
  inputs.find((input) => input.name === name) ??
  inputs.find((input) => input.name.endsWith(`.${name}`) || input.name.endsWith(`_${name}`));

const unusable = (problem: string) => new LehrError('model-unavailable', problem);
