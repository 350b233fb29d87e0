/** Rollouts without Redis: jobs that end one after the other, judged after each of them. */
import { totalEvidence } from '../../packages/shared/src/contracts/rollouts/evidence.ts';
import { BATCH_RATIO, type Samples, TOLERANCE, verdictOf } from '../../packages/shared/src/index.ts';
import type { Random } from './random.ts';

export interface SimulatedRollout {
  /** Probabilities that a job of each version fails. */
  readonly fails: { readonly stable: number; readonly canary: number };
  /** How many times as long a job of the canary takes. */
  readonly slowness: number;
  /** Standard deviation of the logarithm of the engine time of jobs of one size. */
  readonly spread: number;
  /** The share of the canary in each stage; every stage has as many of the jobs. */
  readonly shares: readonly number[];
  readonly jobs: number;
  /** Both versions have lanes of this many rows for both shares together. A row's share of a step then depends on the size of the batch. */
  readonly rows?: number;
}

export interface Alarm {
  readonly kind: 'failures' | 'slowness';
  /** Jobs of the canary that had ended, of all stages. */
  readonly canaryJobs: number;
}

/** The rollback, judged after every single job; undefined when all jobs passed without one. */
export function simulateRollout(rollout: SimulatedRollout, random: Random): Alarm | undefined {
  const { shares, jobs } = rollout;
  let carried = { failures: 0, slowness: 0 };
  let canaryJobs = 0;
  for (const share of shares) {
    const stage = new SimulatedStage(rollout, share, random);
    for (let i = 0; i < jobs / shares.length; i += 1) {
      canaryJobs += stage.endJob() === 'canary' ? 1 : 0;
      const verdict = verdictOf(stage.samples, { carried, autoRollback: true, promoteAfter: null });
      if (verdict.action === 'roll-back') return { kind: verdict.kind, canaryJobs };
    }
    carried = totalEvidence(stage.samples, carried);
  }
  return undefined;
}

/** Counts as count-outcome.lua does. */
class SimulatedStage {
  readonly #rollout: SimulatedRollout;
  readonly #share: number;
  readonly #random: Random;
  readonly #ended = { stable: { jobs: 0, failed: 0 }, canary: { jobs: 0, failed: 0 } };
  readonly #pairs = { slower: 0, faster: 0 };
  /** By the class of the batch. */
  readonly #waiting = new Map<number, { readonly side: 'stable' | 'canary'; readonly time: number }>();

  constructor(rollout: SimulatedRollout, share: number, random: Random) {
    this.#rollout = rollout;
    this.#share = share;
    this.#random = random;
  }

  get samples(): Samples {
    return { ...this.#ended, pairs: this.#pairs };
  }

  endJob(): 'stable' | 'canary' {
    const { fails, slowness, spread } = this.#rollout;
    const side = this.#random.chance(this.#share) ? 'canary' : 'stable';
    this.#ended[side].jobs += 1;
    if (this.#random.chance(fails[side])) {
      this.#ended[side].failed += 1;
      return side;
    }
    const batch = this.#batchOf(side);
    // A step of which three quarters are the same for any number of rows, as on a card that waits for its memory.
    const perRow = (3 + batch) / (4 * batch);
    const time = perRow * Math.exp(spread * this.#normal()) * (side === 'canary' ? slowness : 1);
    const batchClass = Math.floor(Math.log(batch) / Math.log(BATCH_RATIO) + 1e-9);
    const waiting = this.#waiting.get(batchClass);
    if (waiting === undefined || waiting.side === side) {
      this.#waiting.set(batchClass, { side, time });
      return side;
    }
    const other = waiting.time;
    const [canary, stable] = side === 'canary' ? [time, other] : [other, time];
    this.#pairs[canary > TOLERANCE * stable ? 'slower' : 'faster'] += 1;
    this.#waiting.delete(batchClass);
    return side;
  }

  /** The mean batch size of a job: of the rows, those of its version, more or less. */
  #batchOf(side: 'stable' | 'canary'): number {
    const { rows } = this.#rollout;
    if (rows === undefined) return 1;
    const mean = rows * (side === 'canary' ? this.#share : 1 - this.#share);
    return Math.max(1, mean * Math.exp(0.3 * this.#normal()));
  }

  #normal(): number {
    const radius = Math.sqrt(-2 * Math.log(1 - this.#random.next()));
    return radius * Math.cos(2 * Math.PI * this.#random.next());
  }
}
