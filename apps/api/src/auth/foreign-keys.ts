/** Finds the stored keys that a process cannot verify, because their digests were made with another pepper. */
import type { Keys, Redis } from '@lehr/shared/redis';

const BATCH = 500;

export interface ForeignKeys {
  /** Ids of keys made with a pepper that is not one of the process. */
  readonly foreign: readonly string[];
  /** Ids of keys that do not say which pepper they were made with: older versions stored them. */
  readonly unknown: readonly string[];
  /** How many keys were made with a pepper of the process. */
  readonly known: number;
}

/** Leaves expired keys out. `own`: fingerprints of the peppers of this process; `now` in ms. */
export async function findForeignKeys(
  redis: Redis,
  keys: Keys,
  own: readonly string[],
  now: number,
): Promise<ForeignKeys> {
  const foreign: string[] = [];
  const unknown: string[] = [];
  let known = 0;
  const ids = await redis.zrange(keys.apiKeys, '0', '-1');
  for (let start = 0; start < ids.length; start += BATCH) {
    const batch = ids.slice(start, start + BATCH);
    const stored = await Promise.all(
      batch.map((id) => redis.hmget(keys.apiKey(id), 'digest', 'pepper', 'expires_at')),
    );
    for (const [i, [digest, pepper, expiresAt]] of stored.entries()) {
      if (!digest || (expiresAt && Number(expiresAt) <= now)) continue;
      if (!pepper) unknown.push(batch[i]);
      else if (own.includes(pepper)) known += 1;
      else foreign.push(batch[i]);
    }
  }
  return { foreign, unknown, known };
}
