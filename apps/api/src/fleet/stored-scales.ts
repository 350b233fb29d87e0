/** The last decision on the size of each pool of workers, in Redis. */
import { parsedStored, type ScaleMemory } from '@lehr/shared';
import type { Keys, Redis } from '@lehr/shared/redis';
import { z } from 'zod';

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
