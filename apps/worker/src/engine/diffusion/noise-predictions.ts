/** What a run of a UNet gave: one prediction per row, in the float type of the graph until a sample reads its own. */
import { toFloat32 } from '@lehr/onnx-model';
import { allFinite, type FloatType, type Tensor } from '../runtime/tensor.ts';
import type { Guided } from './guidance.ts';
import { ModelOutput } from './model-output.ts';

export class NoisePredictions {
  /** How long the graph ran, ms. */
  readonly runMs: number;
  readonly #output: Tensor<FloatType>;
  readonly #count: number;
  readonly #rowLength: number;
  readonly #memory: Float32Array;

  /** The first `count` rows of `output`. `memory` is as long as a row; the outputs for samples use it. */
  constructor(
    output: Tensor<FloatType>,
    count: number,
    memory = new Float32Array(output.data.length / output.dims[0]),
    runMs = 0,
  ) {
    this.runMs = runMs;
    this.#output = output;
    this.#count = count;
    this.#rowLength = output.data.length / output.dims[0];
    this.#memory = memory;
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

  /** For a sample with one row, or with two of them under guidance, the negative prompt's first. */
  outputFor(firstRow: number, rows: 1 | 2, guidance: number): ModelOutput {
    // The only row has no other one to be moved away from.
    const [negative, prompt] = [this.#row(firstRow), this.#row(firstRow + rows - 1)];
    const scale = rows === 1 ? 1 : guidance;
    return new ModelOutput(
      { negative, prompt, scale } as Guided<Float32Array> | Guided<Uint16Array>,
      this.#memory,
    );
  }

  #row(row: number): Float32Array | Uint16Array {
    return this.#output.data.subarray(row * this.#rowLength, (row + 1) * this.#rowLength);
  }
}
