/** Finds the stored keys that a process cannot verify, because their digests were made with another pepper. */
import type { Keys, Redis } from '@lehr/shared/redis';

const BATCH = 500;

/** Their ids, without expired keys. `own`: fingerprints of the peppers of this process; `now` in ms. */
export async function findForeignKeys(
  redis: Redis,
  keys: Keys,
  own: readonly string[],
  now: number,
): Promise<readonly string[]> {
  const foreign: string[] = [];
  const ids = await redis.zrange(keys.apiKeys, '0', '-1');
  for (let start = 0; start < ids.length; start += BATCH) {
    const batch = ids.slice(start, start + BATCH);
    const stored = await Promise.all(batch.map((id) => redis.hmget(keys.apiKey(id), 'pepper', 'expires_at')));
    for (const [i, [pepper, expiresAt]] of stored.entries()) {
      if (!pepper || own.includes(pepper) || (expiresAt && Number(expiresAt) <= now)) continue;
      foreign.push(batch[i]);
    }
  }
  return foreign;
}
