/**
 * Attention as its formula: softmax(scale x queries x keys + mask) x values, for each row and head, in double precision ("Attention Is All You
 * Need", arXiv 1706.03762, section 3.2). For comparisons: slow.
 */
interface Floats {
  readonly dims: readonly number[];
  readonly data: Float32Array;
}

export interface AttentionInputs {
  /** [rows, tokens, heads, head size] */
  readonly queries: Floats;
  readonly keys: Floats;
  readonly values: Floats;
  /** [rows, 1, tokens of the queries, tokens of the keys] */
  readonly mask?: Floats;
}

/** [rows, tokens of the queries, heads, head size of the values] */
export function attentionOf(inputs: AttentionInputs, { scale }: { readonly scale: number }): Float32Array {
  const [rows, tokens, heads] = inputs.queries.dims;
  const size = inputs.values.dims[3];
  const result = new Float32Array(rows * tokens * heads * size);
  for (let row = 0; row < rows; row += 1) {
    for (let token = 0; token < tokens; token += 1) {
      for (let head = 0; head < heads; head += 1) {
        const at = ((row * tokens + token) * heads + head) * size;
        result.set(valuesOf(inputs, weightsOf(inputs, scale, row, token, head), row, head), at);
      }
    }
  }
  return result;
}

/** How much each key counts for this query; they add up to 1. */
function weightsOf(
  { queries, keys, mask }: AttentionInputs,
  scale: number,
  row: number,
  token: number,
  head: number,
): number[] {
  const query = vectorOf(queries, row, token, head);
  const tokens = keys.dims[1];
  const scores = Array.from({ length: tokens }, (_, key) => {
    const product = vectorOf(keys, row, key, head).reduce((sum, value, i) => sum + value * query[i], 0);
    return scale * product + (mask?.data[(row * queries.dims[1] + token) * tokens + key] ?? 0);
  });
  const largest = Math.max(...scores);
  const powers = scores.map((score) => Math.exp(score - largest));
  const sum = powers.reduce((total, power) => total + power, 0);
  return powers.map((power) => power / sum);
}

/** The values of all keys, as much of each as its weight. */
const valuesOf = (
  { values }: AttentionInputs,
  weights: readonly number[],
  row: number,
  head: number,
): number[] =>
  Array.from({ length: values.dims[3] }, (_, i) =>
    weights.reduce((sum, weight, key) => sum + weight * vectorOf(values, row, key, head)[i], 0),
  );

function vectorOf({ data, dims }: Floats, row: number, token: number, head: number): Float32Array {
  const [, tokens, heads, size] = dims;
  const at = ((row * tokens + token) * heads + head) * size;
  return data.subarray(at, at + size);
}
