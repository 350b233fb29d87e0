/** Rows of equal length in one growing array, so that any consecutive rows are a tensor without a copy. */
import type { FloatType } from '../runtime/tensor.ts';

/** Values of a float tensor, float16 as raw bits. */
export type FloatData = Float32Array | Uint16Array;

export const newFloats = (type: FloatType, length: number): FloatData =>
  type === 'float32' ? new Float32Array(length) : new Uint16Array(length);

export class RowBuffer {
  readonly rowLength: number;
  readonly #type: FloatType;
  #data: FloatData;
  #rows = 0;

  constructor(type: FloatType, rowLength: number) {
    this.#type = type;
    this.rowLength = rowLength;
    this.#data = newFloats(type, 0);
  }

  get rows(): number {
    return this.#rows;
  }

  /** Adds a row at the end and returns it for writing; its values are arbitrary. */
  push(): FloatData {
    this.reserve(this.#rows + 1);
    this.#rows += 1;
    return this.row(this.#rows - 1);
  }

  /** Makes room for this many rows, so that a view may span them; values after the last row are arbitrary. */
  reserve(rows: number): void {
    const wanted = rows * this.rowLength;
    if (this.#data.length >= wanted) return;
    const grown = newFloats(this.#type, Math.max(wanted, 2 * this.#data.length));
    grown.set(this.view(0, this.#rows));
    this.#data = grown;
  }

  /** Removes a row; the last row moves into its place. The memory is freed with the last row. */
  remove(row: number): void {
    this.#rows -= 1;
    const last = this.#rows * this.rowLength;
    if (row < this.#rows) this.#data.copyWithin(row * this.rowLength, last, last + this.rowLength);
    if (this.#rows === 0) this.#data = newFloats(this.#type, 0);
  }

  row(row: number): FloatData {
    return this.view(row, row + 1);
  }

  view(from: number, to: number): FloatData {
    return this.#data.subarray(from * this.rowLength, to * this.rowLength);
  }
}
