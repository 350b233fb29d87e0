/** The workers as they last reported, at most two seconds ago; the mean cost of the jobs in a queue; and who serves which models. */
import { type Clock, readFleet, type WorkerStatus } from '@lehr/shared';
import { type GroupQueues, meanWaitingCost } from '@lehr/shared/queue';
import type { Keys, Redis } from '@lehr/shared/redis';
import { Recent } from '../base/recent.ts';
import { fleetIndex } from './fleet-index.ts';

const TTL_MS = 1000;
/** A reading that is this much older still serves while the next one is under way, so that no request waits for it. */
const STALE_MS = 1000;
/** Jobs of a queue that are read for the mean. */
const COST_SAMPLE = 32;
/** The cache is cleared at this many queues: callers choose the sizes, so there may be many. */
const MAX_QUEUES = 500;

export class FleetView {
  readonly #redis: Redis;
  readonly #keys: Keys;
  readonly #queues: GroupQueues;
  readonly #clock: Clock;
  readonly #workers: Recent<readonly WorkerStatus[]>;
  readonly #costs = new Map<string, Recent<number | undefined>>();

  constructor(redis: Redis, keys: Keys, queues: GroupQueues, clock: Clock) {
    this.#redis = redis;
    this.#keys = keys;
    this.#queues = queues;
    this.#clock = clock;
    this.#workers = new Recent(() => readFleet(redis, keys), TTL_MS, clock, STALE_MS);
  }

  workers(): Promise<readonly WorkerStatus[]> {
    return this.#workers.get();
  }

  /** Mean estimated engine ms of the jobs in this queue; undefined when it is empty. */
  meanCostMs(queue: string): Promise<number | undefined> {
    let recent = this.#costs.get(queue);
    if (!recent) {
      if (this.#costs.size >= MAX_QUEUES) this.#costs.clear();
      const load = () => meanWaitingCost(this.#redis, this.#keys, this.#queues.of(queue), COST_SAMPLE);
      recent = new Recent(load, TTL_MS, this.#clock);
      this.#costs.set(queue, recent);
    }
    return recent.get();
  }
}

/** Workers that take new jobs of this model (`name@version`). */
export const serving = (fleet: readonly WorkerStatus[], model: string): readonly WorkerStatus[] =>
  fleetIndex(fleet).serving(model);

/** The id of a worker starts with the name of its host. */
export const forTenants = (worker: WorkerStatus): WorkerStatus => ({
  ...worker,
  ...(worker.audio_problem !== undefined && { audio_problem: 'This worker cannot decode audio.' }),
  unavailable: worker.unavailable.map(({ ref }) => ({ ref, reason: 'A worker cannot open this model.' })),
  id: worker.id.replace(/^.*(?=-)/, 'worker') as WorkerStatus['id'],
});

/** Which part of the jobs of each model the workers of one model run. */
export interface ModelShares {
  /** Live workers that serve the model. */
  readonly workers: number;
  /** The models that these workers serve, and the share of the jobs of each that they run. Without workers, the model itself. */
  readonly shares: ReadonlyMap<string, number>;
}

/** As `modelSharesOf`, from reports that are at most two seconds old. */
export class ModelSharesView {
  readonly #fleet: FleetView;
  /** Answers already computed, by the reports they were computed from. */
  readonly #computed = new WeakMap<readonly WorkerStatus[], Map<string, ModelShares>>();

  constructor(fleet: FleetView) {
    this.#fleet = fleet;
  }

  /** `model` is `name@version`. */
  async of(model: string): Promise<ModelShares> {
    const fleet = await this.#fleet.workers();
    const computed = this.#computed.get(fleet) ?? new Map<string, ModelShares>();
    this.#computed.set(fleet, computed);
    const shares = computed.get(model) ?? modelSharesOf(model, fleet);
    computed.set(model, shares);
    return shares;
  }
}

export function modelSharesOf(model: string, fleet: readonly WorkerStatus[]): ModelShares {
  const servers = serving(fleet, model);
  const refs = new Set([model, ...servers.flatMap(({ models }) => models.map(({ ref }) => ref))]);
  const shareOf = (ref: string): number => {
    const all = serving(fleet, ref).length;
    return all === 0 ? 1 : fleetIndex(fleet).servingBoth(model, ref) / all;
  };
  return { workers: servers.length, shares: new Map([...refs].map((ref) => [ref, shareOf(ref)])) };
}
