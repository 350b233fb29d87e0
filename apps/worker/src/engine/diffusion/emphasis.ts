/** The weights of a prompt's words, applied to what the text encoder made of them, as AUTOMATIC1111's web UI does. Pure. */

/** A mean this much smaller than the values is what rounding left of none: a ratio of two such means is a random number. */
const NO_MEAN = 1e-6;

/**
 * Multiplies each token's state by its weight, and then all states by one number that gives them the mean that they had. Changes `states`, which
 * is `[tokens, width]` of one chunk; weights that are all 1 leave it as it is, bit for bit.
 */
export function weighStates(states: Float32Array, weights: readonly number[]): void {
  if (weights.every((weight) => weight === 1)) return;
  const width = states.length / weights.length;
  const before = meanOf(states);
  for (const [token, weight] of weights.entries()) {
    for (let i = token * width; i < (token + 1) * width; i++) states[i] *= weight;
  }
  const after = meanOf(states);
  const size = Math.sqrt(states.reduce((sum, value) => sum + value * value, 0) / states.length);
  if (Math.abs(before) < NO_MEAN * size || Math.abs(after) < NO_MEAN * size) return;
  const ratio = before / after;
  for (let i = 0; i < states.length; i++) states[i] *= ratio;
}

const meanOf = (values: Float32Array): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;
