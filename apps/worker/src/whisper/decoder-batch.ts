/** The rows that share decoder calls, and everything a call needs to know of them. No more than data; decoder.ts runs it. */
import { MASK_INPUT, POSITIONS_INPUT } from '../models/rewire-decoder.ts';
import { toFloat16 } from '../runtime/half.ts';
import type { FloatType, Tensor } from '../runtime/tensor.ts';
import { type DecoderSizes, layerNames } from './decoder-graphs.ts';
import { type FloatData, RowBuffer } from './row-buffer.ts';
import { EvenCache, SlotCache, type TokenCache, tensor } from './token-cache.ts';

/** What the decoder knows of one window: views that are good until the next call. */
export interface RowState {
  /** Tokens read and written so far. */
  readonly length: number;
  /** Keys and values of the tokens by turns, `[heads, length, headSize]` a layer. */
  readonly own: readonly FloatData[];
  /** Keys and values of the audio by turns, `[heads, audioPositions, headSize]` a layer; last, the audio features. */
  readonly audio: readonly FloatData[];
}

/** Far below every score, and still a float16. */
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

  /** Tokens of each row so far. */
  get lengths(): readonly number[] {
    return this.#own.lengths;
  }

  /** In an aligned batch all rows are of one length. */
  push({ length, own, audio }: RowState): void {
    const cache: TokenCache = this.#own;
    cache.push(own, length);
    for (const [i, buffer] of this.#audio.entries()) buffer.push().set(audio[i]);
  }

  /** The last row takes the place of this one. */
  remove(row: number): void {
    this.#own.remove(row);
    for (const buffer of this.#audio) buffer.remove(row);
  }

  /** Adds the rows of another aligned batch of the same length, in their order; the other is not to be used any more. */
  takeOver(other: DecoderBatch): void {
    const own = other.#own;
    if (!(own instanceof EvenCache)) throw new Error('Only aligned batches merge. This is a bug in Lehr.');
    for (const [row, length] of own.lengths.entries()) {
      this.push({ length, own: own.row(row), audio: other.#audio.map((buffer) => buffer.row(row)) });
    }
  }

  /** In a batch by rows `to` may lie behind the last one, for a call that is filled up with rows that mean nothing. */
  feeds(from: number, to: number): { readonly feeds: Record<string, Tensor>; readonly slotTokens: number } {
    const { layers, heads, headSize, width, audioPositions, floatType } = this.#sizes;
    const rows = to - from;
    const { past, tokens } = this.#own.feeds(from, to);
    const heard = this.#audio.map((buffer) => {
      buffer.reserve(to);
      return buffer.view(from, to);
    });
    const feeds: Record<string, Tensor> = {
      encoder_hidden_states: tensor(floatType, heard[2 * layers], [rows, audioPositions, width]),
    };
    for (const [i, name] of layerNames(layers, 'past_key_values', 'decoder').entries()) feeds[name] = past[i];
    for (const [i, name] of layerNames(layers, 'past_key_values', 'encoder').entries()) {
      feeds[name] = tensor(floatType, heard[i], [rows, heads, audioPositions, headSize]);
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

  /** All rows have written one token more. */
  advance(): void {
    this.#own.advance();
  }

  /** What a rewired graph wants in the call that begins a text, and does not look at. */
  static unusedFeeds(rows: number, floatType: FloatType): Record<string, Tensor> {
    const zeros = new Array<number>(rows).fill(0);
    return {
      [POSITIONS_INPUT]: { type: 'int64', data: new BigInt64Array(rows), dims: [rows, 1] },
      [MASK_INPUT]: maskOf(zeros, 0, floatType),
    };
  }
}

/** `[rows, 1, 1, slot + 1]`: the tokens each row has in its slot, and behind the slot the new one. */
function maskOf(lengths: readonly number[], slot: number, floatType: FloatType): Tensor {
  const columns = slot + 1;
  const mask = new Float32Array(lengths.length * columns);
  for (const [row, length] of lengths.entries()) {
    mask.fill(HIDDEN, row * columns + length, row * columns + slot);
  }
  const data = floatType === 'float32' ? mask : toFloat16(mask);
  return tensor(floatType, data, [lengths.length, 1, 1, columns]);
}
