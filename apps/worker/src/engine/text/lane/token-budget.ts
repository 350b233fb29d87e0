/**
 * How many tokens a run of a text model should have, padding included, measured on the device.
 *
 * More tokens in a run raise the throughput until the device is fully used; past that knee a run only gets longer, and every text that
 * arrives meanwhile waits for it. So the budget is the fewest tokens whose throughput is within TOLERANCE of the best measured, and no
 * more than run in MAX_RUN_MS. One text of more tokens still runs, alone.
 */
import { knee } from '../../lanes/row-cap.ts';

/** Tokens of a run: powers of two, at which runs are measured at the warm-up and to which others are rounded. */
export const TOKEN_LADDER: readonly number[] = Array.from({ length: 12 }, (_, i) => 16 * 2 ** i);
const SMALLEST = TOKEN_LADDER[0];
const WIDEST = TOKEN_LADDER[TOKEN_LADDER.length - 1];
/** The share of the best throughput that a smaller budget may give up. */
const TOLERANCE = 0.08;
/** Smaller runs would spend much of their time around the graph, where the warm-up does not measure. */
const LEAST = 64;
/** Diffusion steps and audio windows on the same device wait for a run, and so do texts that have just arrived. */
const MAX_RUN_MS = 60;
/** Weight of a new measurement against the earlier ones. */
const SMOOTHING = 0.1;
/** Runs that take this much longer than the smallest one cost no more than it. */
const FREE = 1.1;
/** After so many runs a lowered budget is doubled: other programs on the device may have freed their memory. */
const RAISE_AFTER = 500;

export class TokenBudget {
  readonly #msByTokens = new Map<number, number>();
  #ceiling: number;
  /** The ceiling before it was lowered. */
  #highest: number;
  #runs = 0;

  /** `ceiling`: the budget never exceeds it. */
  constructor(ceiling = WIDEST) {
    this.#ceiling = Math.max(1, ceiling);
    this.#highest = this.#ceiling;
  }

  get ceiling(): number {
    return this.#ceiling;
  }

  get tokens(): number {
    const measured = this.measurements;
    const atKnee = knee(measured, TOLERANCE) ?? this.#ceiling;
    const [slowest] = measured.filter(([, ms]) => ms > MAX_RUN_MS);
    // From the first rung that takes too long, as many tokens as its speed allows.
    const inTime = slowest ? (slowest[0] * MAX_RUN_MS) / slowest[1] : Number.POSITIVE_INFINITY;
    return Math.max(1, Math.floor(Math.min(this.#ceiling, inTime, Math.max(LEAST, atKnee))));
  }

  /** Tokens of a run that take no longer than the smallest run: below it, padding is free. */
  get freeTokens(): number {
    const measured = this.measurements;
    const limit = (measured[0]?.[1] ?? 0) * FREE;
    return measured.findLast(([, ms]) => ms <= limit)?.[0] ?? 0;
  }

  /** Measured with full runs of the budget; undefined before the first measurement. */
  get tokensPerS(): number | undefined {
    const [best] = this.measurements.map(([tokens, ms]) => tokens / ms).sort((a, b) => b - a);
    return best === undefined ? undefined : best * 1000;
  }

  /** By increasing number of tokens: [tokens, ms of a run]. */
  get measurements(): [tokens: number, ms: number][] {
    return [...this.#msByTokens].sort(([a], [b]) => a - b);
  }

  /** Records the duration of a run of so many tokens, padding included. */
  observe(tokens: number, ms: number): void {
    if (++this.#runs % RAISE_AFTER === 0) this.#ceiling = Math.min(this.#highest, 2 * this.#ceiling);
    const rung = SMALLEST * 2 ** Math.max(0, Math.round(Math.log2(tokens / SMALLEST)));
    // A rung that the warm-up did not reach is past the knee; one long text must not make it the best.
    if (!this.#msByTokens.has(rung) && this.#msByTokens.size > 0) return;
    this.#record(rung, (ms * rung) / tokens);
  }

  /** Records a run of the warm-up. */
  measure(rung: number, ms: number): void {
    this.#record(rung, ms);
  }

  /** Lowers the budget permanently: more tokens do not fit into the device's memory. */
  limit(tokens: number): void {
    this.lower(tokens);
    this.#highest = this.#ceiling;
  }

  /** Lowers the budget after a run for which memory was short; it is raised again in steps of many runs. */
  lower(tokens: number): void {
    this.#runs = 0;
    this.#ceiling = Math.max(1, Math.min(this.#ceiling, tokens));
  }

  #record(rung: number, ms: number): void {
    const known = this.#msByTokens.get(rung);
    this.#msByTokens.set(rung, known === undefined ? ms : known + SMOOTHING * (ms - known));
  }
}

/** Runs whose texts the worker holds: with several to choose from, a run finds texts of similar length. */
const RUNS_AHEAD = 8;
const LEAST_AHEAD = 2048;

/** Tokens of the texts that the worker may hold for a lane, in steps, so that it is seldom reported. */
export function claimTokens(budget: TokenBudget): number {
  const tokens = Math.max(LEAST_AHEAD, RUNS_AHEAD * budget.tokens);
  return 2 ** Math.round(Math.log2(tokens));
}
