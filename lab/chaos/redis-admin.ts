/** Connections of a test to a Redis server, for configuration and inspection. */
import { onTestFinished } from 'vitest';
import { openRedis, type Redis, redisReady } from '../../packages/shared/src/redis/index.ts';

export type { Redis } from '../../packages/shared/src/redis/index.ts';

/** Closed at the end of the test. */
export async function testConnection(url: string): Promise<Redis> {
  const redis = openRedis(url, 'worker', 'chaos');
  onTestFinished(() => redis.disconnect());
  await redisReady(redis, 30_000);
  return redis;
}

/** All keys with this prefix. */
export async function keysWith(redis: Redis, prefix: string): Promise<string[]> {
  const keys: string[] = [];
  // The braces of a hash tag mean nothing in a pattern.
  for (let cursor = '0'; ; ) {
    const [next, page] = await redis.scan(cursor, 'MATCH', `${prefix}*`, 'COUNT', 1000);
    keys.push(...page);
    if (next === '0') return keys;
    cursor = next;
  }
}
