/** How full Redis is. At `maxmemory` it refuses almost every write, also those that finish jobs and so free memory. */
import type { Redis } from 'ioredis';

/**
 * From this share of maxmemory on, no job is accepted. The rest is kept for what accepted jobs still need: claims, renewals,
 * progress, ends and webhooks.
 */
export const FULL_SHARE = 0.8;

/**
 * The share of maxmemory in use, 0 to 1 or a little more. Undefined when Redis has no limit, or does not show it (some managed
 * servers).
 */
export async function memoryShare(redis: Redis): Promise<number | undefined> {
  return parseMemoryShare(await redis.info('memory'));
}

/** `memory` is the reply to INFO memory. Buffers of replicas and of the log do not count towards maxmemory. */
export function parseMemoryShare(memory: string): number | undefined {
  const field = (name: string): number => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(memory)?.[1] ?? 0);
  const limit = field('maxmemory');
  if (limit === 0) return undefined;
  return (field('used_memory') - field('mem_not_counted_for_evict')) / limit;
}
