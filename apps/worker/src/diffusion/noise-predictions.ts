/** What a run of a UNet gave: one prediction per row, in the float type of the graph until a sample reads its own. */
import { toFloat32 } from '../runtime/half.ts';
import { allFinite, type FloatType, type Tensor } from '../runtime/tensor.ts';
import { guideFloats, guideHalves } from './guidance.ts';

export class NoisePredictions {
  /** How long the graph ran, ms. */
  readonly runMs: number;
  readonly #output: Tensor<FloatType>;
  readonly #count: number;
  readonly #rowLength: number;
  readonly #guided: Float32Array;

  /** The first `count` rows of `output`. `guided` is memory for one row of float32, which `of` overwrites at every call. */
  constructor(
    output: Tensor<FloatType>,
    count: number,
    guided = new Float32Array(output.data.length / output.dims[0]),
    runMs = 0,
  ) {
    this.runMs = runMs;
    this.#output = output;
    this.#count = count;
    this.#rowLength = output.data.length / output.dims[0];
    this.#guided = guided;
  }

  /** Every row, `[channels, height, width]`. */
  get rows(): Float32Array[] {
    return Array.from({ length: this.#count }, (_, row) => {
      const values = this.#row(row);
      return values instanceof Uint16Array ? toFloat32(values) : values;
    });
  }

  /** Indices of rows with a NaN or an infinity; all other rows are valid. */
  get badRows(): number[] {
    return this.rows.flatMap((row, index) => (allFinite(row) ? [] : [index]));
  }

  /**
   * The prediction for a sample with one row, or with two of them under guidance, the negative prompt's first; valid until the next call.
   * Undefined when it is not finite.
   */
  of(firstRow: number, rows: 1 | 2, guidance: number): Float32Array | undefined {
    const prediction = rows === 1 ? this.#only(firstRow) : this.#guide(firstRow, guidance);
    return allFinite(prediction) ? prediction : undefined;
  }

  #only(row: number): Float32Array {
    const values = this.#row(row);
    return values instanceof Uint16Array ? toFloat32(values, this.#guided) : values;
  }

  #guide(negativeRow: number, guidance: number): Float32Array {
    const [negative, prompt] = [this.#row(negativeRow), this.#row(negativeRow + 1)];
    if (negative instanceof Uint16Array) {
      guideHalves(negative, prompt as Uint16Array, guidance, this.#guided);
    } else {
      guideFloats(negative, prompt as Float32Array, guidance, this.#guided);
    }
    return this.#guided;
  }

  #row(row: number): Float32Array | Uint16Array {
    return this.#output.data.subarray(row * this.#rowLength, (row + 1) * this.#rowLength);
  }
}
