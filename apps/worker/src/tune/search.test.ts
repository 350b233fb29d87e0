import fc from 'fast-check';
import { expect, test } from 'vitest';
import { callsOf, nextToMeasure, RUNGS, type Rung, WHOLE_GRID } from './search.ts';

interface Surface {
  /** The true score of each candidate. */
  readonly truth: readonly number[];
  /** The largest relative error of one call. */
  readonly noise: number;
  readonly seed: number;
}

/** A repeatable number between -1 and 1. */
const wobble = (seed: number, i: number, calls: number): number =>
  Math.sin((seed + 1) * 12.9898 + i * 78.233 + calls * 37.719);

/** Measures until the search is done. The error of a measurement becomes smaller with the root of its calls. */
function search({ truth, noise, seed }: Surface, rungs: readonly Rung[] = RUNGS) {
  const known = new Map<string, number>();
  let spent = 0;
  const all = truth.map((_, i) => i);
  for (;;) {
    const next = nextToMeasure(all, rungs, (i, calls) => known.get(`${i} ${calls}`));
    if (next.outcome === 'done') return { best: next.ranked.at(0), ranked: next.ranked, spent };
    for (const i of next.candidates) {
      const error = (noise / Math.sqrt(next.calls)) * wobble(seed, i, next.calls);
      known.set(`${i} ${next.calls}`, truth[i] * (1 + error));
      spent += next.calls;
    }
  }
}

/** Products of one factor for each of four settings, as times of steps are. */
const factors = fc.array(fc.double({ min: 1, max: 4, noNaN: true }), { minLength: 2, maxLength: 4 });
const surface = fc
  .tuple(factors, factors, factors, factors)
  .map(([a, b, c, d]) => a.flatMap((w) => b.flatMap((x) => c.flatMap((y) => d.map((z) => w * x * y * z)))));

test('The search ends within its noise of the best candidate of any surface', () => {
  fc.assert(
    fc.property(surface, fc.double({ min: 0, max: 0.1, noNaN: true }), fc.nat(1000), (truth, noise, seed) => {
      const { best } = search({ truth, noise, seed });
      // At every rung a worse candidate may pass the best one by at most the error of both measurements.
      const limit = RUNGS.reduce(
        (product, { calls }) => {
          const error = noise / Math.sqrt(calls);
          return (product * (1 + error)) / (1 - error);
        },
        Math.min(...truth),
      );
      expect(truth[best ?? -1]).toBeLessThanOrEqual(limit * (1 + 1e-9));
    }),
  );
});

test('Where measurements are exact, the search finds the best candidate with less than a quarter of the calls of the grid', () => {
  fc.assert(
    fc.property(surface, (truth) => {
      const { best, spent } = search({ truth, noise: 0, seed: 0 });
      expect(truth[best ?? -1]).toBe(Math.min(...truth));
      expect(spent).toBe(callsOf(truth.length, RUNGS));
      // Few candidates are all kept for the last rung, because two or three say little.
      if (truth.length >= 24) expect(spent).toBeLessThan(callsOf(truth.length, WHOLE_GRID) / 4);
    }),
  );
});

test('A search that continues from known measurements asks only for what is missing', () => {
  const scores = (i: number, calls: number): number | undefined => (calls === 3 && i !== 5 ? i : undefined);
  const next = nextToMeasure([0, 1, 2, 3, 4, 5], RUNGS, scores);
  expect(next).toEqual({ outcome: 'measure', calls: 3, candidates: [5] });
});

test('Candidates that do not run are dropped, and a search in which none runs has no result', () => {
  expect(search({ truth: [Number.POSITIVE_INFINITY, 3, 2], noise: 0, seed: 0 }).ranked).toEqual([2, 1]);
  const none = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  expect(search({ truth: none, noise: 0, seed: 0 }).ranked).toEqual([]);
});
