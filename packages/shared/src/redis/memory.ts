/** How full Redis is. At `maxmemory` it refuses almost every write, also those that finish jobs and so free memory. */
import type { Redis } from 'ioredis';

/**
 * From this share of maxmemory on, no job is accepted. The rest is kept for what accepted jobs still need: claims, renewals,
 * progress, ends and webhooks.
 */
export const FULL_SHARE = 0.8;

export interface RedisMemory {
  /** What counts towards maxmemory: all but the buffers of replicas and of the log. */
  readonly usedBytes: number;
  readonly maxBytes: number;
  /** 0 to 1 or a little more. */
  readonly share: number;
}

/** Undefined when Redis has no limit, or does not show it (some managed servers). */
export async function readMemory(redis: Redis): Promise<RedisMemory | undefined> {
  return parseMemory(await redis.info('memory'));
}

/** The share of maxmemory in use; undefined as for `readMemory`. */
export async function memoryShare(redis: Redis): Promise<number | undefined> {
  return (await readMemory(redis))?.share;
}

/** `info` is the reply to INFO memory. */
export function parseMemory(info: string): RedisMemory | undefined {
  const field = (name: string): number => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? 0);
  const maxBytes = field('maxmemory');
  if (maxBytes === 0) return undefined;
  const usedBytes = field('used_memory') - field('mem_not_counted_for_evict');
  return { usedBytes, maxBytes, share: usedBytes / maxBytes };
}
