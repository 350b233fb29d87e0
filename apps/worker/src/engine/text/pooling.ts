/** The vectors of a text's tokens to one vector, as the model's own files say. */
import type { RowOutput } from './text-graph.ts';

/** As in sentence-transformers' pooling folder. `mean-sqrt`: the sum, over the root of the length. `weighted`: later tokens count more. */
export const POOLINGS = ['cls', 'mean', 'max', 'mean-sqrt', 'weighted', 'last'] as const;
export type Pooling = (typeof POOLINGS)[number];

/** `tokens`: how many positions of the row are no padding. Several poolings are joined. */
export function pool(row: RowOutput, tokens: number, poolings: readonly Pooling[]): Float32Array {
  const pooled = new Float32Array(row.width * poolings.length);
  for (const [i, pooling] of poolings.entries()) pooled.set(poolOne(row, tokens, pooling), i * row.width);
  return pooled;
}

function poolOne(row: RowOutput, tokens: number, pooling: Pooling): Float32Array {
  const { values, width } = row;
  if (pooling === 'cls') return values.subarray(0, width);
  if (pooling === 'last') return values.subarray((tokens - 1) * width, tokens * width);
  if (pooling === 'max') return maximum(row, tokens);
  const weightOf = (position: number): number => (pooling === 'weighted' ? position + 1 : 1);
  // Sums in double precision, so that the order of additions does not show in the result.
  const sums = new Float64Array(width);
  let weights = 0;
  for (let position = 0; position < tokens; position += 1) {
    const weight = weightOf(position);
    weights += weight;
    const from = position * width;
    for (let i = 0; i < width; i += 1) sums[i] += weight * values[from + i];
  }
  const divisor = pooling === 'mean-sqrt' ? Math.sqrt(weights) : weights;
  return Float32Array.from(sums, (sum) => sum / divisor);
}

function maximum({ values, width }: RowOutput, tokens: number): Float32Array {
  const largest = values.slice(0, width);
  for (let position = 1; position < tokens; position += 1) {
    for (let i = 0; i < width; i += 1) {
      const value = values[position * width + i];
      if (value > largest[i]) largest[i] = value;
    }
  }
  return largest;
}

/** As torch's `normalize`: a vector of zeros stays one. */
const MIN_NORM = 1e-12;

/** The first `dimensions` values, of length 1 when `normalized`. */
export function finishEmbedding(
  vector: Float32Array,
  { dimensions, normalized }: { readonly dimensions: number; readonly normalized: boolean },
): Float32Array {
  const cut = vector.subarray(0, dimensions);
  if (!normalized) return cut.slice();
  const norm = Math.max(Math.sqrt(cut.reduce((sum, value) => sum + value * value, 0)), MIN_NORM);
  return cut.map((value) => value / norm);
}
