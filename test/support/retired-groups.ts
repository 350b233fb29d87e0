/** Retires groups as if nobody had used them for an hour. */
import { PRIORITY_CLASSES } from '../../packages/shared/src/index.ts';
import { retireIdleGroups } from '../../packages/shared/src/queue/index.ts';
import { type Keys, type Redis, redisNow } from '../../packages/shared/src/redis/index.ts';

export interface RetireParts {
  readonly redis: Redis;
  readonly keys: Keys;
}

/** Moves the last use of a group into the past, and makes the next look at it due. */
export async function ageGroup({ redis, keys }: RetireParts, queue: string): Promise<void> {
  await redis
    .multi()
    .hdel(keys.fair(queue), ...PRIORITY_CLASSES.map((priority) => `${priority} :last`))
    .hset(keys.fair(queue), ' :used', 1)
    .zadd(keys.groupLooks, 1, queue)
    .exec();
}

/** Returns those of the groups that were retired. */
export async function retireIdle(parts: RetireParts, queues: readonly string[]): Promise<string[]> {
  for (const queue of queues) await ageGroup(parts, queue);
  return retireIdleGroups(parts.redis, parts.keys, await redisNow(parts.redis));
}
