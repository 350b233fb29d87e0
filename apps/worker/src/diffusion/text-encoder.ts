/** Prompts to prompt embeddings, with a cache: most jobs of a model share a negative prompt, and many a prompt. */
import { LehrError } from '@lehr/shared';
import { LRUCache } from 'lru-cache';
import { expectInputs, expectOutput, expectSize, expectType } from '../runtime/graph-values.ts';
import type { RuntimeSession } from '../runtime/runtime.ts';
import { findBadRows, floatValues, type Tensor } from '../runtime/tensor.ts';
import type { ClipTokenizer } from './tokenizer.ts';

export interface TextEncoderOptions {
  /** Memory for cached embeddings; one of Stable Diffusion 1.5 takes 231 KiB. Default 64 MiB. */
  readonly cacheBytes?: number;
  /** Width of the embeddings according to the config, for graphs that leave it free. */
  readonly embeddingDim?: number | undefined;
}

/** Limits the memory of one run; more prompts take several runs. */
const MAX_PROMPTS_PER_RUN = 16;

export class TextEncoder {
  readonly embeddingDim: number;
  readonly #session: RuntimeSession;
  readonly #tokenizer: ClipTokenizer;
  readonly #idType: 'int32' | 'int64';
  readonly #output: string;
  /** The batch size, if the graph fixes it. */
  readonly #fixedPrompts: number | undefined;
  readonly #cache: LRUCache<string, Float32Array>;

  /** Throws LehrError `model-unavailable` when the session is not a CLIP text encoder. */
  constructor(session: RuntimeSession, tokenizer: ClipTokenizer, options: TextEncoderOptions = {}) {
    const [ids] = expectInputs('text_encoder', session, ['input_ids']);
    const output = expectOutput('text_encoder', session, ['last_hidden_state']);
    this.#session = session;
    this.#tokenizer = tokenizer;
    this.#idType = expectType('text_encoder', ids, ['int32', 'int64'] as const);
    this.#output = output.name;
    this.#fixedPrompts = typeof ids.dims[0] === 'number' ? ids.dims[0] : undefined;
    this.embeddingDim = expectSize('text_encoder', output, 2, options.embeddingDim);
    this.#cache = new LRUCache({
      maxSize: options.cacheBytes ?? 64 * 1024 * 1024,
      sizeCalculation: (embedding) => embedding.byteLength,
    });
  }

  /**
   * One embedding per prompt, `[tokens, embeddingDim]`, in the same order. Equal prompts share one array, which must not
   * be changed. Throws what RuntimeSession.run throws, and LehrError `numeric-error` when the result is not finite.
   */
  async encode(prompts: readonly string[]): Promise<Float32Array[]> {
    const found = new Map<string, Float32Array>();
    const missing: string[] = [];
    for (const prompt of new Set(prompts)) {
      const embedding = this.#cache.get(prompt);
      if (embedding) found.set(prompt, embedding);
      else missing.push(prompt);
    }
    const perRun = this.#fixedPrompts ?? MAX_PROMPTS_PER_RUN;
    for (let start = 0; start < missing.length; start += perRun) {
      const batch = missing.slice(start, start + perRun);
      for (const [i, embedding] of (await this.#run(batch)).entries()) {
        found.set(batch[i], embedding);
        this.#cache.set(batch[i], embedding);
      }
    }
    return prompts.flatMap((prompt) => found.get(prompt) ?? []);
  }

  async close(): Promise<void> {
    await this.#session.close();
  }

  async #run(prompts: readonly string[]): Promise<Float32Array[]> {
    const results = await this.#session.run({ input_ids: this.#stackIds(prompts) }, [this.#output]);
    const values = floatValues(results[this.#output]);
    const length = this.#tokenizer.maxTokens * this.embeddingDim;
    // Copies: a view would keep the whole batch in memory for one cached prompt.
    const embeddings = prompts.map((_, i) => values.slice(i * length, (i + 1) * length));
    if (findBadRows(embeddings).length > 0) {
      throw new LehrError('numeric-error', 'The text encoder produced values that are not finite.');
    }
    return embeddings;
  }

  #stackIds(prompts: readonly string[]): Tensor {
    const rows = this.#fixedPrompts ?? prompts.length;
    const ids = Array.from({ length: rows }, (_, i) => this.#tokenizer.encode(prompts[i] ?? '')).flat();
    const dims = [rows, this.#tokenizer.maxTokens];
    return this.#idType === 'int32'
      ? { type: 'int32', data: Int32Array.from(ids), dims }
      : { type: 'int64', data: BigInt64Array.from(ids, (id) => BigInt(id)), dims };
  }
}
