/**
 * Rows whose prompts differ in length, in as few UNet calls as is cheap, without a mask. Attention over keys and values that are all repeated
 * equally often is the same attention, so a row of one chunk beside one of two is given twice. Pure functions.
 */
import type { FloatType, Tensor } from '../runtime/tensor.ts';

/** Rows that run together. */
export interface SharedCall {
  /** Their indices. */
  readonly rows: readonly number[];
  /** Tokens that each of them is given: a multiple of its own. */
  readonly tokens: number;
}

/**
 * A row with a longer text costs more: measured on 2026-11-28 with the UNet of Stable Diffusion 1.5 (float32, one thread, load 2.3 to 1.2, 5
 * interleaved rounds), 8 chunks took 1.07 times the CPU time of one at 512x512, and 1.10 times at 256x256. A run of its own took 1.07 times. So rows are repeated
 * up to 8 chunks of 77 tokens, and run apart beyond. No card was measured.
 */
export const MAX_SHARED_TOKENS = 8 * 77;

/**
 * The calls of rows with prompts of so many tokens; each row is in one of them, the longest prompts come first. Rows of different lengths share
 * a call of up to `maxShared` tokens.
 */
export function callsByLength(tokens: readonly number[], maxShared: number): SharedCall[] {
  const calls: { rows: number[]; tokens: number }[] = [];
  const lengths = [...new Set(tokens)].sort((a, b) => b - a);
  for (const length of lengths) {
    const rows = tokens.flatMap((own, row) => (own === length ? [row] : []));
    const shared = calls.find((call) => commonMultiple(call.tokens, length) <= maxShared);
    if (shared) {
      shared.tokens = commonMultiple(shared.tokens, length);
      shared.rows.push(...rows);
    } else calls.push({ rows, tokens: length });
  }
  return calls;
}

const commonMultiple = (a: number, b: number): number => (a / commonDivisor(a, b)) * b;
const commonDivisor = (a: number, b: number): number => (b === 0 ? a : commonDivisor(b, a % b));

/** The rows of several outputs, each in the place that its call says, as one output. */
export function joinOutputs(
  outputs: readonly Tensor<FloatType>[],
  calls: readonly SharedCall[],
  rows: number,
): Tensor<FloatType> {
  const [{ type, dims }] = outputs;
  const length = dims.slice(1).reduce((product, dim) => product * dim, 1);
  const data = type === 'float32' ? new Float32Array(rows * length) : new Uint16Array(rows * length);
  for (const [i, call] of calls.entries()) {
    for (const [at, row] of call.rows.entries()) {
      data.set(outputs[i].data.subarray(at * length, (at + 1) * length), row * length);
    }
  }
  return { type, data, dims: [rows, ...dims.slice(1)] } as Tensor<FloatType>;
}

/**
 * Prompt embeddings as often one after another as a call needs; the same array for the same embedding while its calls do not change. Only those of
 * the last call are kept: the cache of prompts keeps embeddings for long, and the repeated ones are up to eight times as large.
 */
export class RepeatedEmbeddings {
  #kept: ReadonlyMap<Float32Array, Float32Array> = new Map();

  /** Those of a call. `length` is a multiple of that of each embedding. */
  of(embeddings: readonly Float32Array[], length: number): readonly Float32Array[] {
    if (embeddings.every((embedding) => embedding.length === length)) return embeddings;
    const made = new Map<Float32Array, Float32Array>();
    const repeated = embeddings.map((embedding) => {
      const known = made.get(embedding) ?? this.#kept.get(embedding);
      const whole = known?.length === length ? known : repeatTo(embedding, length);
      made.set(embedding, whole);
      return whole;
    });
    this.#kept = made;
    return repeated;
  }
}

function repeatTo(embedding: Float32Array, length: number): Float32Array {
  if (embedding.length === length) return embedding;
  const repeated = new Float32Array(length);
  for (let at = 0; at < length; at += embedding.length) repeated.set(embedding, at);
  return repeated;
}

/**
 * The embeddings of one picture, all as long as their common multiple if that is at most `longest`: its rows then share a run on every provider,
 * with the same bits whoever is beside them.
 */
export function toOneLength(embeddings: readonly Float32Array[], longest: number): readonly Float32Array[] {
  const lengths = embeddings.map(({ length }) => length);
  const [call, ...others] = callsByLength(lengths, longest);
  return others.length > 0 ? embeddings : embeddings.map((each) => repeatTo(each, call.tokens));
}
