/**
 * The order of a group queue in memory: the start-time fair queueing of fair-wait.lua and admit.lua, for one class and tenants of
 * weight one.
 */
import { readFileSync } from 'node:fs';

const SCRIPT = new URL('../../../packages/shared/src/queue/fair-wait.lua', import.meta.url);
const constant = (name: string): number =>
  Number(new RegExp(`^local ${name} = ([\\d.]+)`, 'm').exec(readFileSync(SCRIPT, 'utf8'))?.[1]);
/** As the script has them. */
export const COST_FACTOR = constant('COST_FACTOR');
export const LAG_MS = constant('LAG_MS');

/** `lag_ms` of the script. */
export const lagMs = (costMs: number, { costFactor = COST_FACTOR, lag = LAG_MS } = {}): number =>
  lag * Math.log(1 + (costFactor * costMs) / lag);

interface Entry<Job> {
  readonly job: Job;
  readonly start: number;
  readonly score: number;
}

export class FairQueue<Job extends { readonly tenant: string }> {
  readonly #lag: (costMs: number) => number;
  readonly #tags = new Map<string, number>();
  #waiting: Entry<Job>[] = [];
  #virtualTime = 0;

  constructor(lag: (costMs: number) => number = lagMs) {
    this.#lag = lag;
  }

  get length(): number {
    return this.#waiting.length;
  }

  add(job: Job, costMs: number): void {
    if (this.#waiting.length === 0) this.#virtualTime = Math.max(this.#virtualTime, ...this.#tags.values());
    const start = Math.max(this.#virtualTime, this.#tags.get(job.tenant) ?? 0);
    this.#tags.set(job.tenant, start + costMs);
    this.#waiting.push({ job, start, score: start + this.#lag(costMs) });
  }

  /** The job of the smallest score. */
  get head(): Job | undefined {
    this.#waiting.sort((a, b) => a.score - b.score);
    return this.#waiting[0]?.job;
  }

  /** Removes the jobs of the smallest scores, at most `count`. */
  claim(count: number): Job[] {
    this.#waiting.sort((a, b) => a.score - b.score);
    const claimed = this.#waiting.splice(0, count);
    for (const { start } of claimed) this.#virtualTime = Math.max(this.#virtualTime, start);
    return claimed.map(({ job }) => job);
  }
}
