/**
 * Random weights for graphs of gigabytes: all tensors of about the same scale share the bytes of one region of a file, so that the file
 * is small and written in seconds. ONNX Runtime loads each tensor separately, so the memory of the device is that of a real model.
 */
import { writeFile } from 'node:fs/promises';
import type { FloatType, GraphBuilder } from '../../packages/demo-models/src/graph-builder.ts';
import { SeededRandom } from '../../packages/demo-models/src/seeded-random.ts';
import { toFloat16 } from '../../packages/onnx-model/src/index.ts';

export const WEIGHTS_FILE = 'model.onnx_data';
/** A prime, so that the rows of a matrix are not repetitions of each other. */
const TILE = 262_147;
/** Values of the largest tensor: a convolution from 2560 to 1280 channels. */
const LARGEST = 2560 * 1280 * 9;
/** Powers of two of the standard deviations. */
const SCALES = [-3, -4, -5, -6, -7];

export class SharedWeights {
  readonly #type: FloatType;
  /** Values of a region. */
  readonly #region: number;

  constructor(type: FloatType, largest = LARGEST) {
    this.#type = type;
    this.#region = largest;
  }

  /** Normal values with about the standard deviation 1 / sqrt(fanIn), which keeps the scale of what is multiplied by them. */
  add(graph: GraphBuilder, name: string, dims: readonly number[], fanIn: number): string {
    const elements = dims.reduce((product, dim) => product * dim, 1);
    if (elements > this.#region)
      throw new Error(`${name} has ${elements} values, at most ${this.#region} fit.`);
    const power = Math.max(-7, Math.min(-3, Math.round(-Math.log2(fanIn) / 2)));
    const region = SCALES.indexOf(power);
    return graph.storedWeight(name, dims, WEIGHTS_FILE, region * this.#region * this.#bytes);
  }

  get #bytes(): number {
    return this.#type === 'float16' ? 2 : 4;
  }

  /** Writes the file of all regions. */
  async write(path: string): Promise<void> {
    const normals = new SeededRandom(15).normals(TILE, 1);
    const file = Buffer.alloc(SCALES.length * this.#region * this.#bytes);
    for (const [region, scale] of SCALES.entries()) {
      const scaled = normals.map((value) => value * 2 ** scale);
      const values = this.#type === 'float16' ? toFloat16(scaled) : scaled;
      const tile = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
      const end = (region + 1) * this.#region * this.#bytes;
      for (let at = region * this.#region * this.#bytes; at < end; at += tile.byteLength) {
        file.set(tile.subarray(0, Math.min(tile.byteLength, end - at)), at);
      }
    }
    await writeFile(path, file);
  }
}
