import { toFloat16 } from './half.ts';
import type { FloatType, Tensor } from './tensor.ts';

/**
 * Copies rows one after another into a batch tensor, in the float type that a graph takes. It reuses its memory, so a
 * stacked tensor is valid until the next call.
 */
export class RowStack {
  #floats = new Float32Array(0);
  #halves = new Uint16Array(0);
  /** Half-precision copies of rows that are stacked at every step, such as prompt embeddings: converted once. */
  readonly #converted: WeakMap<Float32Array, Uint16Array> | undefined;

  constructor(options: { readonly cacheConverted?: boolean } = {}) {
    this.#converted = options.cacheConverted ? new WeakMap() : undefined;
  }

  /** `rows` have equal lengths and together fill `dims`. */
  stack(type: FloatType, rows: readonly Float32Array[], dims: readonly number[]): Tensor<FloatType> {
    const rowLength = rows[0]?.length ?? 0;
    const length = rows.length * rowLength;
    if (type === 'float32') {
      if (this.#floats.length < length) this.#floats = new Float32Array(length);
      for (const [i, row] of rows.entries()) this.#floats.set(row, i * rowLength);
      return { type, data: this.#floats.subarray(0, length), dims };
    }
    if (this.#halves.length < length) this.#halves = new Uint16Array(length);
    for (const [i, row] of rows.entries()) {
      // The two rows of a picture with guidance have one latent.
      const isRepeated = i > 0 && row === rows[i - 1];
      if (isRepeated) this.#halves.copyWithin(i * rowLength, (i - 1) * rowLength, i * rowLength);
      else this.#writeHalves(row, i * rowLength);
    }
    return { type, data: this.#halves.subarray(0, length), dims };
  }

  #writeHalves(row: Float32Array, offset: number): void {
    if (!this.#converted) {
      toFloat16(row, this.#halves.subarray(offset));
      return;
    }
    let halves = this.#converted.get(row);
    if (!halves) {
      halves = toFloat16(row);
      this.#converted.set(row, halves);
    }
    this.#halves.set(halves, offset);
  }
}
