/**
 * How many workers each pool should have. The decision is made anew when it is asked for, at most once a second; what it needs of
 * earlier decisions is kept in Redis, because any API process may be asked next. Two processes that decide at the same moment see the
 * same state, so it does no harm that the later one overwrites what the earlier one kept.
 */
import {
  type Clock,
  desiredWorkers,
  NO_MEMORY,
  type Pool,
  parsedStored,
  type Registry,
  readStarts,
  type Scale,
  type ScaleMemory,
  startMsOf,
} from '@lehr/shared';
import type { Keys, Redis } from '@lehr/shared/redis';
import { z } from 'zod';
import { Recent } from '../base/recent.ts';
import type { Backlog } from './backlog.ts';
import type { FleetView } from './fleet-view.ts';
import { seePool } from './scale-state.ts';

const TTL_MS = 1_000;

export interface PoolScalerOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly pools: readonly Pool[];
  readonly registry: Registry;
  readonly fleet: FleetView;
  readonly backlog: Backlog;
  readonly clock: Clock;
}

export class PoolScaler {
  readonly #options: PoolScalerOptions;
  readonly #stored: StoredScales;
  readonly #decisions = new Map<string, Recent<Scale>>();
  /** Pools that what starts workers has asked for since the last decision. */
  readonly #asked = new Set<string>();

  constructor(options: PoolScalerOptions) {
    const { redis, keys, pools, clock } = options;
    this.#options = options;
    this.#stored = new StoredScales(redis, keys);
    for (const pool of pools) {
      this.#decisions.set(pool.name, new Recent(() => this.#decide(pool), TTL_MS, clock));
    }
  }

  get names(): readonly string[] {
    return [...this.#decisions.keys()];
  }

  /** Undefined for a pool that is not configured. `isAsked`: what starts and stops workers asks, and will do it. */
  of(name: string, { isAsked }: { readonly isAsked: boolean }): Promise<Scale> | undefined {
    const decision = this.#decisions.get(name);
    if (decision && isAsked) this.#asked.add(name);
    return decision?.get();
  }

  async #decide(pool: Pool): Promise<Scale> {
    const { redis, keys, registry, fleet, backlog, clock } = this.#options;
    const [loads, workers, starts, stored] = await Promise.all([
      backlog.loads(),
      fleet.workers(),
      readStarts(redis, keys),
      this.#stored.read(pool.name),
    ]);
    const { state, members } = seePool(pool, { registry, loads, fleet: workers, starts, atMs: clock.now() });
    const decision = desiredWorkers(state, pool.policy, (stored?.memory ?? NO_MEMORY) as ScaleMemory);
    await this.#stored.write(pool.name, this.#toStore(pool.name, state.atMs, stored, decision.memory));
    const count = (wanted: string): number => members.filter((each) => each.state === wanted).length;
    const { interactive, standard, bulk } = state.waitingMs;
    return {
      object: 'scale',
      pool: pool.name,
      desired_workers: decision.desired,
      reason: decision.reason,
      explanation: decision.explanation,
      workers: { live: count('live'), starting: count('starting'), draining: count('draining') },
      running_jobs: state.running,
      waiting_s: { interactive: interactive / 1000, standard: standard / 1000, bulk: bulk / 1000 },
      start_s: startMsOf(state, pool.policy) / 1000,
      members,
    };
  }

  #toStore(name: string, atMs: number, stored: StoredScale | undefined, memory: ScaleMemory): StoredScale {
    const isAsked = this.#asked.delete(name);
    const hasGrown = memory.desired > (stored?.memory.desired ?? 0);
    return {
      asked_at: isAsked ? atMs : (stored?.asked_at ?? 0),
      grew_at: hasGrown ? atMs : (stored?.grew_at ?? atMs),
      memory,
    };
  }
}

/** What is older says nothing of now. */
const KEPT_MS = 3_600_000;

const pair = z.tuple([z.number(), z.number()]);
const StoredScaleSchema = z.object({
  /** When what starts workers asked last, ms since the epoch; 0: never. */
  asked_at: z.number(),
  /** When more workers than before were wanted. */
  grew_at: z.number(),
  memory: z.object({
    desired: z.number(),
    peaks: z.array(pair),
    samples: z.array(z.tuple([z.number(), z.number(), z.number()])),
  }),
});
export interface StoredScale {
  readonly asked_at: number;
  readonly grew_at: number;
  readonly memory: ScaleMemory;
}

/** The last decision on the size of each pool, in Redis. */
export class StoredScales {
  readonly #redis: Redis;
  readonly #keys: Keys;

  constructor(redis: Redis, keys: Keys) {
    this.#redis = redis;
    this.#keys = keys;
  }

  /** Undefined when nothing is stored, and for what another version wrote in another form. */
  async read(pool: string): Promise<StoredScale | undefined> {
    const text = await this.#redis.get(this.#keys.scale(pool));
    return text === null ? undefined : parsedStored(StoredScaleSchema, text);
  }

  async write(pool: string, stored: StoredScale): Promise<void> {
    await this.#redis.set(this.#keys.scale(pool), JSON.stringify(stored), 'PX', KEPT_MS);
  }
}
