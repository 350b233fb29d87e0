/** Keeps the equations solvable when an unknown is always 0 in the data: its result is 0. Relative to the number of lines. */
const RIDGE = 1e-9;

/** Least squares by the normal equations, `A^T A x = A^T b`, for a few unknowns and any number of lines. */
export class LeastSquares {
  readonly #unknowns: number;
  readonly #wanted: number;
  /** `[A^T A | A^T b]`, `[unknowns, unknowns + wanted]`. */
  readonly #sums: readonly Float64Array[];
  #count = 0;

  /** `wanted` right-hand sides are fitted at once. */
  constructor(unknowns: number, wanted: number) {
    this.#unknowns = unknowns;
    this.#wanted = wanted;
    this.#sums = Array.from({ length: unknowns }, () => new Float64Array(unknowns + wanted));
  }

  /** Lines added so far. */
  get count(): number {
    return this.#count;
  }

  /** Adds lines: `known` has one array per unknown, `wanted` one per right-hand side, each with one value per line. */
  add(known: readonly Float32Array[], wanted: readonly Float32Array[]): void {
    this.#count += known[0].length;
    for (const [i, sums] of this.#sums.entries()) {
      for (const [j, column] of [...known, ...wanted].entries()) sums[j] += dot(known[i], column);
    }
  }

  /** `[wanted, unknowns]`. Gauss-Jordan elimination; the matrix is positive definite, so it needs no pivoting. */
  solve(): Float64Array[] {
    const lines = this.#sums.map((sums) => sums.slice());
    for (const [i, line] of lines.entries()) line[i] += RIDGE * this.#count;
    for (const [pivot, line] of lines.entries()) {
      const scale = 1 / line[pivot];
      for (let j = 0; j < line.length; j += 1) line[j] *= scale;
      for (const [i, other] of lines.entries()) {
        if (i === pivot) continue;
        const factor = other[pivot];
        for (let j = 0; j < line.length; j += 1) other[j] -= factor * line[j];
      }
    }
    return Array.from({ length: this.#wanted }, (_, side) =>
      Float64Array.from(lines, (line) => line[this.#unknowns + side]),
    );
  }
}

function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i += 1) sum += a[i] * b[i];
  return sum;
}
