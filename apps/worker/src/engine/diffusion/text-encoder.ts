/** Prompts to prompt embeddings, with a cache: most jobs of a model share a negative prompt, and many a prompt. */
import { LehrError, type PromptSyntax } from '@lehr/shared';
import { LRUCache } from 'lru-cache';
import { ADAPTER_SCALES, type AdapterScale, scalesOf, stackScales } from '../models/adapters/add-adapters.ts';
import type { PromptCut } from '../protocol/messages.ts';
import { expectInputs, expectOutput, expectSize, expectType } from '../runtime/graph-values.ts';
import type { RuntimeSession, ValueInfo } from '../runtime/runtime.ts';
import { findBadRows, floatValues, type Tensor } from '../runtime/tensor.ts';
import type { PromptEmbedding } from './conditioning.ts';
import { weighStates } from './emphasis.ts';
import { MAX_CHUNKS } from './prompt-chunks.ts';
import type { ClipTokenizer, EncoderChunk, TokenizedPrompt } from './tokenizer.ts';

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
  /**
   * Opens a form of the graph that gives earlier layers too, each with the final norm as the output `last` has it, when the first job wants
   * one. Throws LehrError `invalid-input` where the graph has none that can be found.
   */
  readonly openEarlier?: (last: string) => Promise<EarlierLayers>;
  /** The adapters that the graph has, in the order of its scales. */
  readonly adapters?: readonly string[];
  /** Also read one vector of the whole prompt, of this width when the graph leaves it free. */
  readonly pooled?: { readonly dim: number | undefined };
}

/** The layers before the last one, each as an output of one session. */
export interface EarlierLayers {
  readonly session: RuntimeSession;
  /** The second output is that of the last layer but one, and so on; the first is not used. */
  readonly outputs: readonly string[];
}

/** What is encoded. A string is read plainly, at the layer that the model was trained with. */
export type PromptText = string | WrittenPrompt;

interface WrittenPrompt {
  readonly text: string;
  readonly syntax: PromptSyntax;
  /** The layer, counted from the last one, which is 1. */
  readonly clipSkip: number | undefined;
  /** The field that it came in, for the message when it is too long. */
  readonly field: 'prompt' | 'negative_prompt';
  /** Of its picture. */
  readonly adapters?: readonly AdapterScale[];
}

export interface EncodeOptions {
  /** The most chunks of one prompt: 1 where the UNet takes no longer embedding. Default: MAX_CHUNKS. */
  readonly maxChunks?: number;
}

/** What encodes prompts: one text encoder, or two side by side. */
export interface PromptEncoder {
  readonly embeddingDim: number;
  /** Width of the pooled embedding; undefined when there is none. */
  readonly pooledDim: number | undefined;
  /**
   * One embedding per prompt, in the same order. Equal prompts share one, which must not be changed. Throws what
   * RuntimeSession.run throws, LehrError `numeric-error` when the result is not finite, and `invalid-input` for a prompt of too many chunks
   * or too large weights, or a layer that the encoder lacks.
   */
  encode(prompts: readonly PromptText[], options?: EncodeOptions): Promise<PromptEmbedding[]>;
  /** How much of each prompt `encode` reads, without a run. Throws `invalid-input` for a prompt of too many chunks. */
  measure(prompts: readonly PromptText[], options?: EncodeOptions): PromptLength[];
}

/** Limits the memory of one run; more prompts take several runs. */
const MAX_PROMPTS_PER_RUN = 16;

export type PromptLength = Pick<PromptEmbedding, 'cut' | 'size'>;

/** A prompt as the graph reads it. */
type TokenChunks = PromptLength & { readonly chunks: readonly EncoderChunk[] };

/** A chunk of a prompt, and the scales that it is encoded with. */
interface AdaptedChunk extends EncoderChunk {
  readonly adapters: WrittenPrompt['adapters'];
}

/** Where a layer's states come from. */
interface Layer {
  readonly session: RuntimeSession;
  readonly output: string;
}

interface EncodedChunk {
  readonly hidden: Float32Array;
  readonly pooled: Float32Array | undefined;
}

export class TextEncoder implements PromptEncoder {
  readonly embeddingDim: number;
  readonly pooledDim: number | undefined;
  readonly #session: RuntimeSession;
  readonly #tokenizer: ClipTokenizer;
  readonly #options: TextEncoderOptions;
  readonly #idType: 'int32' | 'int64';
  readonly #ids: string;
  readonly #hidden: string;
  readonly #pooled: string | undefined;
  /** The batch size, if the graph fixes it. */
  readonly #fixedPrompts: number | undefined;
  readonly #cache: LRUCache<string, PromptEmbedding>;
  #earlier: Promise<EarlierLayers> | undefined;

  /** Throws LehrError `model-unavailable` when the session is not a CLIP text encoder. */
  constructor(session: RuntimeSession, tokenizer: ClipTokenizer, options: TextEncoderOptions = {}) {
    const { graph = 'text_encoder', layer = 'last', pooled } = options;
    const ids = idsOf(graph, session);
    const hidden = layer === 'last' ? lastLayer(graph, session) : penultimateLayer(graph, session);
    const whole = pooled && expectOutput(graph, session, ['text_embeds']);
    this.#session = session;
    this.#tokenizer = tokenizer;
    this.#options = options;
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

  async encode(prompts: readonly PromptText[], options: EncodeOptions = {}): Promise<PromptEmbedding[]> {
    const written = prompts.map(asWritten);
    const found = new Map<string, PromptEmbedding>();
    const missing = new Map<string, WrittenPrompt>();
    for (const prompt of written) {
      const key = this.#keyOf(prompt);
      const embedding = this.#cache.get(key);
      if (embedding) found.set(key, embedding);
      else missing.set(key, prompt);
    }
    const skips = new Set([...missing.values()].map(({ clipSkip }) => clipSkip));
    for (const skip of skips) {
      const there = [...missing.values()].filter(({ clipSkip }) => clipSkip === skip);
      for (const [i, embedding] of (await this.#encodeAt(skip, there, options)).entries()) {
        const key = this.#keyOf(there[i]);
        found.set(key, embedding);
        this.#cache.set(key, embedding);
      }
    }
    return written.flatMap((prompt) => found.get(this.#keyOf(prompt)) ?? []);
  }

  /** What an embedding depends on beside the model: of the adapters, those that this encoder has. */
  #keyOf(prompt: WrittenPrompt): string {
    const { adapters = [] } = this.#options;
    return JSON.stringify([prompt.text, prompt.syntax, prompt.clipSkip, ...scalesOf(adapters, prompt)]);
  }

  measure(prompts: readonly PromptText[], options: EncodeOptions = {}): PromptLength[] {
    return prompts.map((prompt) => {
      const { cut, size } = this.#tokenize(asWritten(prompt), options);
      return { cut, size };
    });
  }

  async close(): Promise<void> {
    await this.#session.close();
  }

  async #encodeAt(
    skip: number | undefined,
    prompts: readonly WrittenPrompt[],
    options: EncodeOptions,
  ): Promise<PromptEmbedding[]> {
    const layer = await this.#layerOf(skip);
    const texts = prompts.map((prompt) => this.#tokenize(prompt, options));
    const chunks = texts.flatMap((text, i) =>
      text.chunks.map((chunk): AdaptedChunk => ({ ...chunk, adapters: prompts[i].adapters })),
    );
    const encoded: EncodedChunk[] = [];
    const perRun = this.#fixedPrompts ?? MAX_PROMPTS_PER_RUN;
    for (let start = 0; start < chunks.length; start += perRun) {
      encoded.push(...(await this.#run(layer, chunks.slice(start, start + perRun))));
    }
    return texts.map(({ chunks: own, ...text }, i) => {
      const embedding = joinChunks(encoded.splice(0, own.length));
      const isWeighted = own.some(({ weights }) => weights);
      if (isWeighted && !embedding.hidden.every(isPossibleState)) throw tooHeavy(prompts[i]);
      return { ...embedding, ...text };
    });
  }

  #tokenize(prompt: WrittenPrompt, { maxChunks = MAX_CHUNKS }: EncodeOptions): TokenChunks {
    const tokenizer = this.#tokenizer;
    if (prompt.syntax === 'plain') {
      const tokenized = tokenizer.tokenize(prompt.text);
      const chunks = [{ ids: tokenized.ids, weights: undefined }];
      return { chunks, cut: cutOf(tokenized, tokenizer.maxTokens) };
    }
    const weighted = tokenizer.tokenizeWeighted(prompt.text, maxChunks);
    if (!weighted) throw tooLong(prompt, maxChunks, tokenizer.maxTokens);
    const { chunks, tokens } = weighted;
    return { chunks, size: { tokens, chunks: chunks.length } };
  }

  /** Throws LehrError `invalid-input` when there is no such layer. */
  async #layerOf(skip: number | undefined): Promise<Layer> {
    const { layer = 'last', openEarlier } = this.#options;
    const own = layer === 'last' ? 1 : 2;
    if (skip === undefined || skip === own) return { session: this.#session, output: this.#hidden };
    if (skip < own) throw noLayer(`is ${skip}, must be at least ${own} for this model`);
    let outputs: readonly string[];
    let session = this.#session;
    // The first of these is what the first layer reads.
    if (layer === 'penultimate') outputs = layersOf(session).slice(1).reverse();
    else {
      if (!openEarlier) throw noLayer('cannot be used with this model');
      // What fails once, such as for want of memory, may work for the next job.
      this.#earlier ??= openEarlier(this.#hidden).catch((error: unknown) => {
        this.#earlier = undefined;
        throw error;
      });
      ({ session, outputs } = await this.#earlier);
    }
    if (skip > outputs.length) throw noLayer(`is ${skip}, must be at most ${outputs.length} for this model`);
    return { session, output: outputs[skip - 1] };
  }

  async #run({ session, output }: Layer, chunks: readonly AdaptedChunk[]): Promise<EncodedChunk[]> {
    const wanted = this.#pooled === undefined ? [output] : [output, this.#pooled];
    const results = await session.run(this.#feeds(chunks), wanted);
    const length = this.#tokenizer.maxTokens * this.embeddingDim;
    const hidden = rowsOf(results[output], chunks.length, length);
    const pooled = this.#pooled && rowsOf(results[this.#pooled], chunks.length, this.pooledDim ?? 0);
    if (findBadRows([...hidden, ...(pooled || [])]).length > 0) {
      throw new LehrError('numeric-error', 'The text encoder produced values that are not finite.');
    }
    for (const [i, { weights }] of chunks.entries()) if (weights) weighStates(hidden[i], weights);
    return hidden.map((each, i) => ({ hidden: each, pooled: pooled ? pooled[i] : undefined }));
  }

  #feeds(chunks: readonly AdaptedChunk[]): Record<string, Tensor> {
    const ids = { [this.#ids]: this.#stackIds(chunks) };
    const { adapters = [] } = this.#options;
    if (adapters.length === 0) return ids;
    const rows = Array.from({ length: this.#fixedPrompts ?? chunks.length }, (_, i) => chunks[i] ?? {});
    return { ...ids, [ADAPTER_SCALES]: stackScales(adapters, rows) };
  }

  #stackIds(chunks: readonly EncoderChunk[]): Tensor {
    const rows = this.#fixedPrompts ?? chunks.length;
    const ids = Array.from({ length: rows }, (_, i) => chunks[i]?.ids ?? this.#tokenizer.encode('')).flat();
    const dims = [rows, this.#tokenizer.maxTokens];
    return this.#idType === 'int32'
      ? { type: 'int32', data: Int32Array.from(ids), dims }
      : { type: 'int64', data: BigInt64Array.from(ids, (id) => BigInt(id)), dims };
  }
}

const asWritten = (prompt: PromptText): WrittenPrompt =>
  typeof prompt === 'string'
    ? { text: prompt, syntax: 'plain', clipSkip: undefined, field: 'prompt' }
    : prompt;

/** The chunks of a prompt follow each other; its pooled embedding is that of the first one, as in AUTOMATIC1111's web UI. */
function joinChunks(chunks: readonly EncodedChunk[]): EncodedChunk {
  if (chunks.length === 1) return chunks[0];
  const hidden = new Float32Array(chunks.reduce((sum, chunk) => sum + chunk.hidden.length, 0));
  let at = 0;
  for (const chunk of chunks) {
    hidden.set(chunk.hidden, at);
    at += chunk.hidden.length;
  }
  return { hidden, pooled: chunks[0].pooled };
}

/** The largest value of a UNet in float16. */
const MAX_STATE = 65_504;

/** False for what is no number, too. */
const isPossibleState = (value: number): boolean => Math.abs(value) <= MAX_STATE;

/** An error of the caller: a `numeric-error` would count against the worker's device, and against the version of the model. */
const tooHeavy = ({ field }: WrittenPrompt): LehrError =>
  refused(field, 'has weights that make values too large for this model');

function tooLong({ field }: WrittenPrompt, maxChunks: number, maxTokens: number): LehrError {
  const tokens = maxTokens - 2;
  const detail =
    maxChunks === 1
      ? `is longer than ${tokens} tokens, and the UNet graph of this model was exported for one chunk alone`
      : `is longer than ${maxChunks} chunks of ${tokens} tokens`;
  return refused(field, detail);
}

export const noLayer = (detail: string): LehrError => refused('clip_skip', detail);

const refused = (field: string, detail: string): LehrError =>
  new LehrError('invalid-input', `/input/${field} ${detail}.`, {
    problems: [{ pointer: `/input/${field}`, detail }],
  });

function cutOf({ tokens }: TokenizedPrompt, maxTokens: number): PromptCut | undefined {
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
  const own = session.inputs.filter(({ name }) => name !== ADAPTER_SCALES);
  if (own.length === 1) return own[0];
  return expectInputs(graph, { inputs: own }, ['input_ids'])[0];
}

/** By its name, or as the only output of rank 3: exporters also write the pooled embedding, of rank 2. */
function lastLayer(graph: string, session: RuntimeSession): ValueInfo {
  const alike = session.outputs.filter(({ dims }) => dims.length === 3);
  const isNamed = session.outputs.some(({ name }) => name === 'last_hidden_state');
  return !isNamed && alike.length === 1 ? alike[0] : expectOutput(graph, session, ['last_hidden_state']);
}

/** Optimum writes the output of every layer, `hidden_states.0` being the input of the first. */
function penultimateLayer(graph: string, session: RuntimeSession): ValueInfo {
  const name = layersOf(session).at(-2);
  const penultimate = session.outputs.find((output) => output.name === name);
  if (penultimate) return penultimate;
  throw new LehrError(
    'model-unavailable',
    `The ${graph} graph has no outputs hidden_states.0, hidden_states.1 and so on, of which SDXL uses the last but one. ` +
      'Export it with output_hidden_states=True, as optimum-cli does.',
  );
}

/** The names of these outputs, the input of the first layer first. */
function layersOf(session: RuntimeSession): string[] {
  const layers = session.outputs.flatMap(({ name }) => {
    const number = /^hidden_states[._](\d+)$/.exec(name)?.[1];
    return number === undefined ? [] : [{ number: Number(number), name }];
  });
  return layers.sort((a, b) => a.number - b.number).map(({ name }) => name);
}
