/** Finds the audio of each token: dynamic time warping over attention (openai/whisper, timing.py). */

/** A matrix of `rows` tokens by `columns` audio positions, row-major. */
export interface TokenAudio {
  readonly rows: number;
  readonly columns: number;
  readonly values: Float32Array;
}

/**
 * Makes the attention of one head, `[tokens, audioPositions]`, comparable with that of other heads: cuts it to the sound,
 * scales each row to a sum of 1, standardises each position over the tokens, and smooths it over time.
 */
export function standardise(
  weights: Float32Array,
  rows: number,
  columns: number,
  filterWidth: number,
): TokenAudio {
  const positions = weights.length / rows;
  const values = new Float32Array(rows * columns);
  for (let row = 0; row < rows; row++) {
    const kept = weights.subarray(row * positions, row * positions + columns);
    const sum = kept.reduce((total, weight) => total + weight, 0) || 1;
    for (let column = 0; column < columns; column++) values[row * columns + column] = kept[column] / sum;
  }
  for (let column = 0; column < columns; column++) standardiseColumn(values, rows, columns, column);
  const smooth = new Float32Array(values.length);
  for (let row = 0; row < rows; row++) {
    const [from, to] = [row * columns, (row + 1) * columns];
    medianFilter(values.subarray(from, to), filterWidth, smooth.subarray(from, to));
  }
  return { rows, columns, values: smooth };
}

function standardiseColumn(values: Float32Array, rows: number, columns: number, column: number): void {
  let sum = 0;
  for (let i = column; i < values.length; i += columns) sum += values[i];
  const mean = sum / rows;
  let squares = 0;
  for (let i = column; i < values.length; i += columns) squares += (values[i] - mean) ** 2;
  const deviation = Math.sqrt(squares / rows) || 1;
  for (let i = column; i < values.length; i += columns) values[i] = (values[i] - mean) / deviation;
}

/** The median of the `width` (odd) values around each value, mirrored at both ends. */
export function medianFilter(values: Float32Array, width: number, out: Float32Array): void {
  const half = Math.floor(width / 2);
  const last = values.length - 1;
  if (half === 0 || last < half) {
    out.set(values);
    return;
  }
  const around = new Float32Array(width);
  for (let at = 0; at <= last; at++) {
    for (let i = 0; i < width; i++) {
      const wanted = Math.abs(at - half + i);
      around[i] = values[wanted > last ? 2 * last - wanted : wanted];
    }
    out[at] = around.sort()[half];
  }
}

/** The mean of matrices of equal size. */
export function mean(matrices: readonly TokenAudio[]): TokenAudio {
  const [{ rows, columns }] = matrices;
  const values = new Float32Array(rows * columns);
  for (const matrix of matrices)
    for (let i = 0; i < values.length; i++) values[i] += matrix.values[i] / matrices.length;
  return { rows, columns, values };
}

const [DIAGONAL, UP, LEFT] = [0, 1, 2];

/** The audio position at which each token begins, on the heaviest path that never goes back in time. */
export function beginnings({ rows, columns, values }: TokenAudio): number[] {
  // cost[r][c]: cost of the best path to token r - 1 and position c - 1.
  const width = columns + 1;
  const cost = new Float64Array((rows + 1) * width).fill(Number.POSITIVE_INFINITY);
  const cameFrom = new Uint8Array(cost.length);
  cost[0] = 0;
  for (let row = 1; row <= rows; row++) {
    for (let column = 1; column <= columns; column++) {
      const at = row * width + column;
      const [diagonal, up, left] = [cost[at - width - 1], cost[at - width], cost[at - 1]];
      const from = diagonal < up && diagonal < left ? DIAGONAL : up < diagonal && up < left ? UP : LEFT;
      cameFrom[at] = from;
      cost[at] = [diagonal, up, left][from] - values[(row - 1) * columns + column - 1];
    }
  }
  const begins = new Array<number>(rows).fill(0);
  let [row, column] = [rows, columns];
  while (row > 0 && column > 0) {
    // The walk goes backwards, so the last position written for a token is its first.
    begins[row - 1] = column - 1;
    const from = cameFrom[row * width + column];
    if (from !== LEFT) row -= 1;
    if (from !== UP) column -= 1;
  }
  return begins;
}
