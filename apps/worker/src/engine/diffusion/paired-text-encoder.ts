import { LehrError } from '@lehr/shared';
import type { PromptEmbedding } from './conditioning.ts';
import type { EncodeOptions, PromptEncoder, PromptLength, PromptText, TextEncoder } from './text-encoder.ts';

/** SDXL's two text encoders: both read the whole prompt, and their embeddings stand side by side for each token. */
export class PairedTextEncoder implements PromptEncoder {
  readonly embeddingDim: number;
  readonly pooledDim: number | undefined;
  readonly #first: TextEncoder;
  readonly #second: TextEncoder;
  /** The joined embedding of two: equal prompts, whose parts are cached, share one array. An adapter may change the second part alone. */
  readonly #joined = new WeakMap<PromptEmbedding, WeakMap<PromptEmbedding, PromptEmbedding>>();

  /** The pooled embedding is that of the second encoder. */
  constructor(first: TextEncoder, second: TextEncoder) {
    this.#first = first;
    this.#second = second;
    this.embeddingDim = first.embeddingDim + second.embeddingDim;
    this.pooledDim = second.pooledDim;
  }

  async encode(prompts: readonly PromptText[], options?: EncodeOptions): Promise<PromptEmbedding[]> {
    const first = await this.#first.encode(prompts, options);
    const second = await this.#second.encode(prompts, options);
    return first.map((each, i) => {
      const ofFirst = this.#joined.get(each) ?? new WeakMap<PromptEmbedding, PromptEmbedding>();
      const known = ofFirst.get(second[i]);
      if (known) return known;
      const joined = {
        ...second[i],
        hidden: this.#join(each.hidden, second[i].hidden),
        cut: each.cut,
        size: each.size,
      };
      this.#joined.set(each, ofFirst.set(second[i], joined));
      return joined;
    });
  }

  measure(prompts: readonly PromptText[], options?: EncodeOptions): PromptLength[] {
    return this.#first.measure(prompts, options);
  }

  #join(first: Float32Array, second: Float32Array): Float32Array {
    const [a, b] = [this.#first.embeddingDim, this.#second.embeddingDim];
    const tokens = first.length / a;
    if (second.length !== tokens * b) {
      const lengths = `${tokens} and ${second.length / b}`;
      throw new LehrError('engine-failed', `The two text encoders gave ${lengths} tokens.`);
    }
    const out = new Float32Array(tokens * (a + b));
    for (let token = 0; token < tokens; token += 1) {
      out.set(first.subarray(token * a, (token + 1) * a), token * (a + b));
      out.set(second.subarray(token * b, (token + 1) * b), token * (a + b) + a);
    }
    return out;
  }
}
