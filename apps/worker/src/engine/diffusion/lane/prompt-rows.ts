/** The prompt and the negative prompt of a sample: the texts to encode, and what its rows hold of them at every step. */
import { rowsPerSample } from '@lehr/shared';
import type { DiffusionSample, PromptCuts, PromptSizes } from '../../protocol/messages.ts';
import {
  type Conditioning,
  type Conditions,
  type PromptEmbedding,
  pictureConditions,
  type RowKind,
} from '../conditioning.ts';
import { MAX_CHUNKS } from '../prompt-chunks.ts';
import { toOneLength } from '../shared-calls.ts';
import type { PromptLength, PromptText } from '../text-encoder.ts';
import type { UnetRow } from '../unet.ts';

interface PromptRow {
  readonly promptEmbedding: Float32Array;
  readonly conditions: Conditions;
}

export class PromptRows {
  readonly count: 1 | 2;
  /** Of the prompt and the negative prompt, those that the text encoder did not read whole. */
  cuts: PromptCuts = {};
  /** Of those that were read in chunks. */
  sizes: PromptSizes = {};
  readonly #request: DiffusionSample;
  readonly #conditioning: Conditioning;
  /** The negative prompt's first. */
  #rows: readonly PromptRow[] | undefined;
  #embeddings: readonly PromptEmbedding[] | undefined;

  constructor(request: DiffusionSample, conditioning: Conditioning) {
    this.#request = request;
    this.#conditioning = conditioning;
    this.count = rowsPerSample(request.guidance, conditioning.guidance);
  }

  /** The texts to encode: the prompt and, for a separate row, the negative prompt. */
  get texts(): readonly PromptText[] {
    const { prompt, negativePrompt, promptSyntax = 'plain', clipSkip, adapters = [] } = this.#request;
    const how = { syntax: promptSyntax, clipSkip, adapters };
    const positive = { ...how, text: prompt, field: 'prompt' } as const;
    if (this.count === 1 || this.#hasZeroNegative) return [positive];
    return [positive, { ...how, text: negativePrompt, field: 'negative_prompt' }];
  }

  get #hasZeroNegative(): boolean {
    return this.#conditioning.zeroesEmptyNegative && this.#request.negativePrompt === '';
  }

  /** Takes the embeddings of `texts`, in order. */
  setEmbeddings(embeddings: readonly PromptEmbedding[]): void {
    this.#embeddings = embeddings;
    const [prompt, encoded] = embeddings;
    const conditionsOf = ({ pooled }: PromptEmbedding, kind: RowKind): Conditions => {
      const shared = pictureConditions(this.#conditioning, this.#request, kind);
      return pooled ? { ...shared, text_embeds: pooled } : shared;
    };
    this.setLengths([prompt, encoded]);
    const positive = { promptEmbedding: prompt.hidden, conditions: conditionsOf(prompt, 'prompt') };
    this.#rows = [positive];
    if (this.count === 1) return;
    const negative = this.#hasZeroNegative ? zerosLike(prompt) : encoded;
    const chunk = prompt.hidden.length / (prompt.size?.chunks ?? 1);
    const [ofNegative, ofPrompt] = toOneLength([negative.hidden, prompt.hidden], MAX_CHUNKS * chunk);
    this.#rows = [
      { promptEmbedding: ofNegative, conditions: conditionsOf(negative, 'negative') },
      { ...positive, promptEmbedding: ofPrompt },
    ];
  }

  /** Takes the embeddings that another pass of the same sample has; returns false when it has none. */
  takeFrom(other: PromptRows): boolean {
    if (!other.#embeddings) return false;
    this.setEmbeddings(other.#embeddings);
    return true;
  }

  /** Takes how much of `texts` was read, in order. */
  setLengths([prompt, negative]: readonly (PromptLength | undefined)[]): void {
    this.cuts = {
      ...(prompt?.cut && { prompt: prompt.cut }),
      ...(negative?.cut && { negativePrompt: negative.cut }),
    };
    this.sizes = {
      ...(prompt?.size && { prompt: prompt.size }),
      ...(negative?.size && { negativePrompt: negative.size }),
    };
  }

  /** The rows of a call with this input: with guidance, the negative prompt's row and then the prompt's. */
  at(latent: Float32Array, timestep: number): UnetRow[] {
    if (!this.#rows) throw new Error('A sample has no prompt embeddings yet. This is a bug in Lehr.');
    const { adapters = [] } = this.#request;
    return this.#rows.map((row) => ({ latent, timestep, ...row, adapters }));
  }
}

const zerosLike = ({ hidden, pooled }: PromptEmbedding): PromptEmbedding => ({
  hidden: new Float32Array(hidden.length),
  pooled: pooled && new Float32Array(pooled.length),
});
