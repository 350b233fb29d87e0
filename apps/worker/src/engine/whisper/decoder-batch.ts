/** The data of the rows that share decoder calls, and the feeds made from it; decoder.ts runs the calls. */
import { toFloat16 } from '@lehr/onnx-model';
import type { FloatType, Tensor } from '../runtime/tensor.ts';
import { type DecoderSizes, layerNames, MASK_INPUT, POSITIONS_INPUT } from './decoder-graphs.ts';
import { type FloatData, RowBuffer } from './row-buffer.ts';
import { EvenCache, SlotCache, type TokenCache, tensor } from './token-cache.ts';

/** The decoder's state of one window. The arrays are views, valid until the next call. */
export interface RowState {
  /** Tokens of the prompt and of the text so far. */
  readonly length: number;
  /** Of the tokens: keys, then values, of each layer; `[heads, length, headSize]` each. */
  readonly own: readonly FloatData[];
  /** Of the audio: keys, then values, of each layer, `[heads, audioPositions, headSize]` each; last, the audio features. */
  readonly audio: readonly FloatData[];
}

/** Far below every attention score; the lowest finite float16. */
const HIDDEN = -65_504;

export class DecoderBatch {
  readonly #sizes: DecoderSizes;
  readonly #mode: 'rows' | 'aligned';
  readonly #own: SlotCache | EvenCache;
  readonly #audio: readonly RowBuffer[];

  constructor(sizes: DecoderSizes, mode: 'rows' | 'aligned') {
    const { layers, heads, headSize, width, audioPositions, floatType } = sizes;
    const cache = { type: floatType, heads, headSize, tensors: 2 * layers };
    const audioKeys = heads * audioPositions * headSize;
    this.#sizes = sizes;
    this.#mode = mode;
    this.#own = mode === 'rows' ? new SlotCache(cache) : new EvenCache(cache);
    this.#audio = [
      ...Array.from({ length: 2 * layers }, () => new RowBuffer(floatType, audioKeys)),
      new RowBuffer(floatType, audioPositions * width),
    ];
  }

  get rows(): number {
    return this.#own.lengths.length;
  }

  /** Tokens of each row so far, prompt included. */
  get lengths(): readonly number[] {
    return this.#own.lengths;
  }

  /** Adds a row. In an aligned batch all rows have the same length. */
  push({ length, own, audio }: RowState): void {
    const cache: TokenCache = this.#own;
    cache.push(own, length);
    for (const [i, buffer] of this.#audio.entries()) buffer.push().set(audio[i]);
  }

  /** Removes a row; the last row moves into its place. */
  remove(row: number): void {
    this.#own.remove(row);
    for (const buffer of this.#audio) buffer.remove(row);
  }

  /** Adds the rows of another aligned batch of the same length, in order. The other batch must not be used afterwards. */
  takeOver(other: DecoderBatch): void {
    const own = other.#own;
    if (!(own instanceof EvenCache)) throw new Error('Only aligned batches merge. This is a bug in Lehr.');
    for (const [row, length] of own.lengths.entries()) {
      this.push({ length, own: own.row(row), audio: other.#audio.map((buffer) => buffer.row(row)) });
    }
  }

  /** In `rows` mode `to` may exceed the number of rows: the call is then padded with rows whose results are ignored. */
  feeds(from: number, to: number): { readonly feeds: Record<string, Tensor>; readonly slotTokens: number } {
    const { layers, heads, headSize, width, audioPositions, floatType } = this.#sizes;
    const rows = to - from;
    const { past, tokens } = this.#own.feeds(from, to);
    const audio = this.#audio.map((buffer) => {
      buffer.reserve(to);
      return buffer.view(from, to);
    });
    const feeds: Record<string, Tensor> = {
      encoder_hidden_states: tensor(floatType, audio[2 * layers], [rows, audioPositions, width]),
    };
    for (const [i, name] of layerNames(layers, 'past_key_values', 'decoder').entries()) feeds[name] = past[i];
    for (const [i, name] of layerNames(layers, 'past_key_values', 'encoder').entries()) {
      feeds[name] = tensor(floatType, audio[i], [rows, heads, audioPositions, headSize]);
    }
    if (this.#mode === 'rows') {
      const lengths = Array.from({ length: rows }, (_, row) => this.#own.lengths[from + row] ?? 0);
      feeds[POSITIONS_INPUT] = {
        type: 'int64',
        data: BigInt64Array.from(lengths, BigInt),
        dims: [rows, 1],
      };
      feeds[MASK_INPUT] = maskOf(lengths, tokens, floatType);
    }
    return { feeds, slotTokens: tokens };
  }

  store(from: number, to: number, presents: readonly FloatData[]): void {
    this.#own.store(from, to, presents);
  }

  /** Every row has one token more. */
  advance(): void {
    this.#own.advance();
  }

  /** Inputs that a rewired graph requires in the first call of a text, where their values have no effect. */
  static unusedFeeds(rows: number, floatType: FloatType): Record<string, Tensor> {
    const zeros = new Array<number>(rows).fill(0);
    return {
      [POSITIONS_INPUT]: { type: 'int64', data: new BigInt64Array(rows), dims: [rows, 1] },
      [MASK_INPUT]: maskOf(zeros, 0, floatType),
    };
  }
}

/** `[rows, 1, 1, slot + 1]`: 0 for the tokens of each row and, after the slot, for the new one. */
function maskOf(lengths: readonly number[], slot: number, floatType: FloatType): Tensor {
  const columns = slot + 1;
  const mask = new Float32Array(lengths.length * columns);
  for (const [row, length] of lengths.entries()) {
    mask.fill(HIDDEN, row * columns + length, row * columns + slot);
  }
  const data = floatType === 'float32' ? mask : toFloat16(mask);
  return tensor(floatType, data, [lengths.length, 1, 1, columns]);
}
