/** Prompts to prompt embeddings, with a cache: most jobs of a model share a negative prompt, and many a prompt. */
import { LehrError } from '@lehr/shared';
import { LRUCache } from 'lru-cache';
import type { PromptCut } from '../protocol/messages.ts';
import { expectInputs, expectOutput, expectSize, expectType } from '../runtime/graph-values.ts';
import type { RuntimeSession, ValueInfo } from '../runtime/runtime.ts';
import { findBadRows, floatValues, type Tensor } from '../runtime/tensor.ts';
import type { PromptEmbedding } from './conditioning.ts';
import type { ClipTokenizer, TokenizedPrompt } from './tokenizer.ts';

export interface TextEncoderOptions {
  /** The name in messages; `text_encoder` when absent. */
  readonly graph?: string;
  /** Memory for cached embeddings; one of Stable Diffusion 1.5 takes 231 KiB. Default 64 MiB. */
  readonly cacheBytes?: number;
  /** Width of the embeddings according to the config, for graphs that leave it free. */
  readonly embeddingDim?: number | undefined;
  /**
   * Which of the encoder's layers is the embedding: `last` with its final norm, as in Stable Diffusion 1 and 2, or the one before
   * it, as in SDXL.
   */
  readonly layer?: 'last' | 'penultimate';
  /** Also read one vector of the whole prompt, of this width when the graph leaves it free. */
  readonly pooled?: { readonly dim: number | undefined };
}

/** What encodes prompts: one text encoder, or two side by side. */
export interface PromptEncoder {
  readonly embeddingDim: number;
  /** Width of the pooled embedding; undefined when there is none. */
  readonly pooledDim: number | undefined;
  /**
   * One embedding per prompt, in the same order. Equal prompts share one, which must not be changed. Throws what
   * RuntimeSession.run throws, and LehrError `numeric-error` when the result is not finite.
   */
  encode(prompts: readonly string[]): Promise<PromptEmbedding[]>;
}

/** Limits the memory of one run; more prompts take several runs. */
const MAX_PROMPTS_PER_RUN = 16;

export class TextEncoder implements PromptEncoder {
  readonly embeddingDim: number;
  readonly pooledDim: number | undefined;
  readonly #session: RuntimeSession;
  readonly #tokenizer: ClipTokenizer;
  readonly #idType: 'int32' | 'int64';
  readonly #ids: string;
  readonly #hidden: string;
  readonly #pooled: string | undefined;
  /** The batch size, if the graph fixes it. */
  readonly #fixedPrompts: number | undefined;
  readonly #cache: LRUCache<string, PromptEmbedding>;

  /** Throws LehrError `model-unavailable` when the session is not a CLIP text encoder. */
  constructor(session: RuntimeSession, tokenizer: ClipTokenizer, options: TextEncoderOptions = {}) {
    const { graph = 'text_encoder', layer = 'last', pooled } = options;
    const ids = idsOf(graph, session);
    const hidden = layer === 'last' ? lastLayer(graph, session) : penultimateLayer(graph, session);
    const whole = pooled && expectOutput(graph, session, ['text_embeds']);
    this.#session = session;
    this.#tokenizer = tokenizer;
    this.#idType = expectType(graph, ids, ['int32', 'int64'] as const);
    this.#ids = ids.name;
    this.#hidden = hidden.name;
    this.#pooled = whole?.name;
    this.#fixedPrompts = typeof ids.dims[0] === 'number' ? ids.dims[0] : undefined;
    this.embeddingDim = expectSize(graph, hidden, 2, options.embeddingDim);
    this.pooledDim = whole && expectSize(graph, whole, 1, pooled.dim);
    this.#cache = new LRUCache({
      maxSize: options.cacheBytes ?? 64 * 1024 * 1024,
      sizeCalculation: ({ hidden, pooled }) => hidden.byteLength + (pooled?.byteLength ?? 0),
    });
  }

  async encode(prompts: readonly string[]): Promise<PromptEmbedding[]> {
    const found = new Map<string, PromptEmbedding>();
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

  async #run(prompts: readonly string[]): Promise<PromptEmbedding[]> {
    const wanted = this.#pooled === undefined ? [this.#hidden] : [this.#hidden, this.#pooled];
    const tokenized = prompts.map((prompt) => this.#tokenizer.tokenize(prompt));
    const results = await this.#session.run({ [this.#ids]: this.#stackIds(tokenized) }, wanted);
    const length = this.#tokenizer.maxTokens * this.embeddingDim;
    const hidden = rowsOf(results[this.#hidden], prompts.length, length);
    const pooled = this.#pooled && rowsOf(results[this.#pooled], prompts.length, this.pooledDim ?? 0);
    if (findBadRows([...hidden, ...(pooled || [])]).length > 0) {
      throw new LehrError('numeric-error', 'The text encoder produced values that are not finite.');
    }
    return hidden.map((each, i) => ({
      hidden: each,
      pooled: pooled ? pooled[i] : undefined,
      cut: cutOf(tokenized[i], this.#tokenizer.maxTokens),
    }));
  }

  #stackIds(prompts: readonly TokenizedPrompt[]): Tensor {
    const rows = this.#fixedPrompts ?? prompts.length;
    const ids = Array.from({ length: rows }, (_, i) => prompts[i]?.ids ?? this.#tokenizer.encode('')).flat();
    const dims = [rows, this.#tokenizer.maxTokens];
    return this.#idType === 'int32'
      ? { type: 'int32', data: Int32Array.from(ids), dims }
      : { type: 'int64', data: BigInt64Array.from(ids, (id) => BigInt(id)), dims };
  }
}

export function cutOf({ tokens }: TokenizedPrompt, maxTokens: number): PromptCut | undefined {
  if (tokens === undefined) return { read: maxTokens };
  return tokens > maxTokens ? { read: maxTokens, tokens } : undefined;
}

/** Copies: a view would keep the whole batch in memory for one cached prompt. */
function rowsOf(tensor: Tensor, rows: number, length: number): Float32Array[] {
  const values = floatValues(tensor);
  return Array.from({ length: rows }, (_, i) => values.slice(i * length, (i + 1) * length));
}

/** The token ids: by their name, or as the only input. */
function idsOf(graph: string, session: RuntimeSession): ValueInfo {
  if (session.inputs.length === 1) return session.inputs[0];
  return expectInputs(graph, session, ['input_ids'])[0];
}

/** By its name, or as the only output of rank 3: exporters also write the pooled embedding, of rank 2. */
function lastLayer(graph: string, session: RuntimeSession): ValueInfo {
  const alike = session.outputs.filter(({ dims }) => dims.length === 3);
  const isNamed = session.outputs.some(({ name }) => name === 'last_hidden_state');
  return !isNamed && alike.length === 1 ? alike[0] : expectOutput(graph, session, ['last_hidden_state']);
}

/** Optimum writes the output of every layer, `hidden_states.0` being the input of the first. */
function penultimateLayer(graph: string, session: RuntimeSession): ValueInfo {
  const layers = session.outputs.flatMap((output) => {
    const number = /^hidden_states[._](\d+)$/.exec(output.name)?.[1];
    return number === undefined ? [] : [{ number: Number(number), output }];
  });
  const penultimate = layers.sort((a, b) => a.number - b.number).at(-2);
  if (penultimate) return penultimate.output;
  throw new LehrError(
    'model-unavailable',
    `The ${graph} graph has no outputs hidden_states.0, hidden_states.1 and so on, of which SDXL uses the last but one. ` +
      'Export it with output_hidden_states=True, as optimum-cli does.',
  );
}

/** SDXL's two text encoders: both read the whole prompt, and their embeddings stand side by side for each token. */
export class PairedTextEncoder implements PromptEncoder {
  readonly embeddingDim: number;
  readonly pooledDim: number | undefined;
  readonly #first: TextEncoder;
  readonly #second: TextEncoder;
  /** The joined embedding of each first one: equal prompts, whose parts are cached, share one array. */
  readonly #joined = new WeakMap<PromptEmbedding, PromptEmbedding>();

  /** The pooled embedding is that of the second encoder. */
  constructor(first: TextEncoder, second: TextEncoder) {
    this.#first = first;
    this.#second = second;
    this.embeddingDim = first.embeddingDim + second.embeddingDim;
    this.pooledDim = second.pooledDim;
  }

  async encode(prompts: readonly string[]): Promise<PromptEmbedding[]> {
    const first = await this.#first.encode(prompts);
    const second = await this.#second.encode(prompts);
    return first.map((each, i) => {
      const known = this.#joined.get(each);
      if (known) return known;
      const joined = { ...second[i], hidden: this.#join(each.hidden, second[i].hidden), cut: each.cut };
      this.#joined.set(each, joined);
      return joined;
    });
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
