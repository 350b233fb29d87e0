import { toFloat16 } from '@lehr/onnx-model';
import type { FloatType, Tensor } from './tensor.ts';

/**
 * Copies rows one after another into a batch tensor, in the float type that a graph takes. It reuses its memory, so a
 * stacked tensor is valid until the next call.
 */
export class RowStack {
  #floats = new Float32Array(0);
  #halves = new Uint16Array(0);
  /** Half-precision copies of constant rows: converted once. */
  readonly #converted: WeakMap<Float32Array, Uint16Array> | undefined;
  /** The constant rows that are in the memory already, each at its place. */
  #placed: readonly Float32Array[] = [];
  #type: FloatType | undefined;

  /**
   * `constant`: the values of a row never change, such as those of a prompt's embedding. While a row stays at its place from call to
   * call, it is not copied again.
   */
  constructor(options: { readonly constant?: boolean } = {}) {
    this.#converted = options.constant ? new WeakMap() : undefined;
  }

  /** `rows` have equal lengths and together fill `dims`. */
  stack(type: FloatType, rows: readonly Float32Array[], dims: readonly number[]): Tensor<FloatType> {
    const rowLength = rows[0]?.length ?? 0;
    const length = rows.length * rowLength;
    this.#makeRoom(type, length);
    for (const [i, row] of rows.entries()) {
      if (row === this.#placed[i]) continue;
      // The two rows of a picture with guidance have one latent.
      const isRepeated = i > 0 && row === rows[i - 1];
      const memory = type === 'float32' ? this.#floats : this.#halves;
      if (isRepeated) memory.copyWithin(i * rowLength, (i - 1) * rowLength, i * rowLength);
      else if (type === 'float32') this.#floats.set(row, i * rowLength);
      else this.#writeHalves(row, i * rowLength);
    }
    if (this.#converted) this.#placed = rows;
    return type === 'float32'
      ? { type, data: this.#floats.subarray(0, length), dims }
      : { type, data: this.#halves.subarray(0, length), dims };
  }

  #makeRoom(type: FloatType, length: number): void {
    const memory = type === 'float32' ? this.#floats : this.#halves;
    if (type !== this.#type) this.#placed = [];
    this.#type = type;
    if (memory.length >= length) return;
    this.#placed = [];
    if (type === 'float32') this.#floats = new Float32Array(length);
    else this.#halves = new Uint16Array(length);
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
