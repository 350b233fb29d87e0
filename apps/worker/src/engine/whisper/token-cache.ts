/**
 * The keys and values of the rows' tokens, which the decoder takes as `past_key_values.*.decoder.*`. One class for each
 * batching mode of the decoder: SlotCache for `rows`, EvenCache for `aligned`.
 */
import type { FloatType, Tensor } from '../runtime/tensor.ts';
import { type FloatData, newFloats, RowBuffer } from './row-buffer.ts';

export interface CacheSizes {
  readonly type: FloatType;
  readonly heads: number;
  readonly headSize: number;
  /** Number of key and value tensors: two per layer. */
  readonly tensors: number;
}

export interface CacheFeeds {
  /** Keys, then values, of each layer: `[rows, heads, tokens, headSize]`. */
  readonly past: readonly Tensor<FloatType>[];
  /** Length of `past` in tokens. */
  readonly tokens: number;
}

export interface TokenCache {
  readonly lengths: readonly number[];
  /** Adds a row. `own`: `[heads, length, headSize]` each. */
  push(own: readonly FloatData[], length: number): void;
  /** Removes a row; the last row moves into its place. */
  remove(row: number): void;
  feeds(from: number, to: number): CacheFeeds;
  /** Stores the `present.*.decoder.*` outputs of a call over these rows. */
  store(from: number, to: number, presents: readonly FloatData[]): void;
  /** Every row has one token more. */
  advance(): void;
}

/** Slots grow and shrink by this many tokens: larger steps copy less often, smaller ones attend to fewer empty places. */
const SLOT_STEP = 32;

/** Rows of any length, each in its own slot: for a decoder with an input that masks the unused end of a slot. */
export class SlotCache implements TokenCache {
  readonly lengths: number[] = [];
  readonly #sizes: CacheSizes;
  #slot = SLOT_STEP;
  #buffers: RowBuffer[];

  constructor(sizes: CacheSizes) {
    this.#sizes = sizes;
    this.#buffers = this.#newBuffers();
  }

  push(own: readonly FloatData[], length: number): void {
    this.#resize(Math.max(length, ...this.lengths));
    for (const [i, buffer] of this.#buffers.entries()) {
      // Masked entries get weight zero in the attention, and zero times infinity is NaN: they must be finite.
      this.#place(own[i], length, buffer.push().fill(0));
    }
    this.lengths.push(length);
  }

  remove(row: number): void {
    for (const buffer of this.#buffers) buffer.remove(row);
    swapRemove(this.lengths, row);
  }

  /** `to` may exceed the number of rows; the values there are finite and arbitrary. */
  feeds(from: number, to: number): CacheFeeds {
    this.#resize(Math.max(...this.lengths));
    const { type, heads, headSize } = this.#sizes;
    const dims = [to - from, heads, this.#slot, headSize];
    const past = this.#buffers.map((buffer) => {
      buffer.reserve(to);
      return tensor(type, buffer.view(from, to), dims);
    });
    return { past, tokens: this.#slot };
  }

  store(from: number, to: number, presents: readonly FloatData[]): void {
    const { heads, headSize } = this.#sizes;
    for (const [i, buffer] of this.#buffers.entries()) {
      for (let row = from; row < to; row++) {
        const slots = buffer.row(row);
        for (let head = 0; head < heads; head++) {
          const start = ((row - from) * heads + head) * headSize;
          const fresh = presents[i].subarray(start, start + headSize);
          slots.set(fresh, (head * this.#slot + this.lengths[row]) * headSize);
        }
      }
    }
  }

  advance(): void {
    for (const row of this.lengths.keys()) this.lengths[row] += 1;
  }

  /** Room for one token more than the longest row has, and for at most two steps more. */
  #resize(longest: number): void {
    const wanted = Math.ceil((longest + 1) / SLOT_STEP) * SLOT_STEP;
    if (wanted <= this.#slot && wanted >= this.#slot - SLOT_STEP) return;
    const before = { buffers: this.#buffers, slot: this.#slot };
    this.#slot = wanted;
    this.#buffers = this.#newBuffers();
    for (const [row, length] of this.lengths.entries()) {
      for (const [i, buffer] of this.#buffers.entries()) {
        const old = before.buffers[i].row(row);
        this.#place(old, length, buffer.push().fill(0), before.slot);
      }
    }
  }

  /** Copies `length` tokens of every head into a slot, from an array with `room` tokens per head. */
  #place(source: FloatData, length: number, slots: FloatData, room = length): void {
    const { heads, headSize } = this.#sizes;
    for (let head = 0; head < heads; head++) {
      const start = head * room * headSize;
      slots.set(source.subarray(start, start + length * headSize), head * this.#slot * headSize);
    }
  }

  #newBuffers(): RowBuffer[] {
    const { type, heads, headSize, tensors } = this.#sizes;
    return Array.from({ length: tensors }, () => new RowBuffer(type, heads * this.#slot * headSize));
  }
}

/** Rows of equal length, without slots: for a decoder that takes the length of the past as the position. */
export class EvenCache implements TokenCache {
  readonly lengths: number[] = [];
  readonly #sizes: CacheSizes;
  #data: FloatData[] = [];
  #next: FloatData[] = [];

  constructor(sizes: CacheSizes) {
    this.#sizes = sizes;
  }

  push(own: readonly FloatData[], length: number): void {
    if (this.lengths.some((other) => other !== length)) {
      throw new Error(
        `A row of ${length} tokens was added to rows of ${this.lengths[0]}. This is a bug in Lehr.`,
      );
    }
    this.lengths.push(length);
    this.#data = own.map((row, i) => {
      const before = this.#data[i];
      if (!before) return row;
      const grown = newFloats(this.#sizes.type, before.length + row.length);
      grown.set(before);
      grown.set(row, before.length);
      return grown;
    });
  }

  remove(row: number): void {
    const rowLength = this.#rowLength();
    const last = this.lengths.length - 1;
    this.#data = this.#data.map((data) => {
      data.copyWithin(row * rowLength, last * rowLength);
      return data.subarray(0, last * rowLength);
    });
    swapRemove(this.lengths, row);
    if (last === 0) this.#data = [];
  }

  /** One row's part of every tensor; views, valid until the cache changes. */
  row(row: number): FloatData[] {
    const rowLength = this.#rowLength();
    return this.#data.map((data) => data.subarray(row * rowLength, (row + 1) * rowLength));
  }

  feeds(from: number, to: number): CacheFeeds {
    const { type, heads, headSize } = this.#sizes;
    const rowLength = this.#rowLength();
    const tokens = this.lengths[0];
    const dims = [to - from, heads, tokens, headSize];
    return {
      past: this.#data.map((data) => tensor(type, data.subarray(from * rowLength, to * rowLength), dims)),
      tokens,
    };
  }

  store(from: number, to: number, presents: readonly FloatData[]): void {
    if (from === 0 && to === this.lengths.length) {
      this.#next = [...presents];
      return;
    }
    const { type, heads, headSize } = this.#sizes;
    const rowLength = heads * (this.lengths[0] + 1) * headSize;
    for (const [i, present] of presents.entries()) {
      this.#next[i] ??= newFloats(type, this.lengths.length * rowLength);
      this.#next[i].set(present, from * rowLength);
    }
  }

  advance(): void {
    this.#data = this.#next;
    this.#next = [];
    for (const row of this.lengths.keys()) this.lengths[row] += 1;
  }

  #rowLength(): number {
    return this.#sizes.heads * (this.lengths[0] ?? 0) * this.#sizes.headSize;
  }
}

export const tensor = (type: FloatType, data: FloatData, dims: readonly number[]): Tensor<FloatType> =>
  ({ type, data, dims }) as Tensor<FloatType>;

function swapRemove(list: number[], index: number): void {
  const last = list.pop();
  if (last !== undefined && index < list.length) list[index] = last;
}
