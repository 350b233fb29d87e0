/**
 * Successive halving: all candidates are measured with few calls, the better part of them with more, and so on. Pure: it says what to
 * measure next from what is known, so a search that was interrupted continues from its journal.
 */

export interface Rung {
  /** Measured calls of each candidate. */
  readonly calls: number;
  /** The share of the rung before it that comes to this one. */
  readonly keep: number;
}

/**
 * The last rung has as many calls as a search over the whole grid makes of every candidate: what is chosen is known as well. A
 * search makes 3 + 15/5 + 60/20 = 9 calls for each candidate, where the grid makes 60.
 */
export const RUNGS: readonly Rung[] = [
  { calls: 3, keep: 1 },
  { calls: 15, keep: 1 / 5 },
  { calls: 60, keep: 1 / 4 },
];
export const WHOLE_GRID: readonly Rung[] = [{ calls: 60, keep: 1 }];

/** Fewer would be decided by the noise of one measurement. */
const KEEP_AT_LEAST = 3;

/** Lower is better; infinite for a candidate that does not run; undefined for one that is not measured with so many calls. */
export type Scores<Candidate> = (candidate: Candidate, calls: number) => number | undefined;

export type Next<Candidate> =
  | { readonly outcome: 'measure'; readonly calls: number; readonly candidates: readonly Candidate[] }
  /** The candidates of the last rung, best first. Empty when none runs. */
  | { readonly outcome: 'done'; readonly ranked: readonly Candidate[] };

export function nextToMeasure<Candidate>(
  all: readonly Candidate[],
  rungs: readonly Rung[],
  scores: Scores<Candidate>,
): Next<Candidate> {
  let candidates = all;
  for (const { calls, keep } of rungs) {
    const wanted = Math.max(KEEP_AT_LEAST, Math.ceil(candidates.length * keep));
    candidates = candidates.slice(0, wanted);
    const missing = candidates.filter((each) => scores(each, calls) === undefined);
    if (missing.length > 0) return { outcome: 'measure', calls, candidates: missing };
    candidates = ranked(candidates, (each) => scores(each, calls) ?? Number.POSITIVE_INFINITY);
  }
  return { outcome: 'done', ranked: candidates };
}

/** Those that run, best first; equal ones stay in their order. */
function ranked<Candidate>(
  candidates: readonly Candidate[],
  score: (candidate: Candidate) => number,
): Candidate[] {
  return candidates
    .map((candidate) => ({ candidate, score: score(candidate) }))
    .filter((each) => Number.isFinite(each.score))
    .sort((a, b) => a.score - b.score)
    .map(({ candidate }) => candidate);
}

/** The calls of a whole search when every candidate runs, of a number of candidates. */
export function callsOf(count: number, rungs: readonly Rung[]): number {
  let left = count;
  let sum = 0;
  for (const { calls, keep } of rungs) {
    left = Math.min(left, Math.max(KEEP_AT_LEAST, Math.ceil(left * keep)));
    sum += left * calls;
  }
  return sum;
}
