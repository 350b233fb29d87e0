/** Reads how full the group queues are; the API's queue list, wait estimates and metrics are computed from this. */

import type { JobId } from '../base/ids.ts';
import { PRIORITY_CLASSES, type PriorityClass } from '../contracts/job.ts';
import type { Keys, Redis } from '../redis/index.ts';
import { repliesOf } from '../redis/replies.ts';
import type { GroupQueue } from './group-queue.ts';
import type { GroupQueues } from './group-queues.ts';
import { CLASS_SPAN, firstScore } from './score.ts';

export interface GroupDepth {
  readonly queue: string;
  readonly waiting: number;
  /** Claimed and not finished. */
  readonly running: number;
  /** Age of the oldest waiting job by Redis's clock; undefined when none waits. */
  readonly oldestAgeMs: number | undefined;
}

const COMMANDS_PER_QUEUE = 4 + PRIORITY_CLASSES.length;

/** The depth of every group queue, in order of name. Two round trips, whatever the number of jobs. */
export async function readDepths(redis: Redis, keys: Keys, queues: GroupQueues): Promise<GroupDepth[]> {
  const names = (await redis.smembers(keys.groups)).sort();
  if (names.length === 0) return [];
  const pipeline = redis.pipeline();
  for (const name of names) {
    const { waitKey, prioritizedKey, activeKey } = queues.of(name);
    pipeline.llen(waitKey).zcard(prioritizedKey).llen(activeKey).lindex(waitKey, -1);
    // The oldest job of a group is the first of one of its classes.
    for (const priority of PRIORITY_CLASSES) {
      const from = firstScore(priority);
      pipeline.zrangebyscore(prioritizedKey, from, from + CLASS_SPAN - 1, 'LIMIT', 0, 1);
    }
  }
  const replies = repliesOf(await pipeline.exec());
  const depths = names.map((queue, i) => {
    const [waiting, prioritized, running, front, ...heads] = replies.slice(
      i * COMMANDS_PER_QUEUE,
      (i + 1) * COMMANDS_PER_QUEUE,
    ) as [number, number, number, JobId | null, ...JobId[][]];
    const candidates = [...(front ? [front] : []), ...heads.flat()];
    return { queue, waiting: waiting + prioritized, running, candidates };
  });
  const ages = await waitedMs(
    redis,
    keys,
    depths.flatMap(({ candidates }) => candidates),
  );
  return depths.map(({ candidates, ...depth }) => {
    const known = candidates.map((id) => ages.get(id)).filter((age) => age !== undefined);
    return { ...depth, oldestAgeMs: known.length > 0 ? Math.max(...known) : undefined };
  });
}

/** Estimated engine ms of the waiting jobs, by group and class; groups without waiting jobs are left out. */
export type GroupLoads = ReadonlyMap<string, Record<PriorityClass, number>>;

/** The loads of all group queues; two round trips. */
export async function readLoads(redis: Redis, keys: Keys): Promise<GroupLoads> {
  const names = await redis.smembers(keys.groups);
  const pipeline = redis.pipeline();
  for (const name of names) pipeline.hmget(keys.load(name), ...PRIORITY_CLASSES);
  const replies = repliesOf(await pipeline.exec()) as (string | null)[][];
  const loads = new Map<string, Record<PriorityClass, number>>();
  for (const [i, name] of names.entries()) {
    // Sums of floats may keep a fraction after everything was subtracted again.
    const [interactive, standard, bulk] = replies[i].map((load) => Math.max(0, Math.round(Number(load))));
    if (interactive + standard + bulk > 0) loads.set(name, { interactive, standard, bulk });
  }
  return loads;
}

/** Mean of the estimated engine ms of the next `count` jobs of a group; undefined when none waits. */
export async function meanWaitingCost(
  redis: Redis,
  keys: Keys,
  queue: GroupQueue,
  count: number,
): Promise<number | undefined> {
  const [front, prioritized] = repliesOf(
    await redis
      .pipeline()
      .lrange(queue.waitKey, -count, -1)
      .zrange(queue.prioritizedKey, '0', String(count - 1))
      .exec(),
  ) as JobId[][];
  const ids = [...front, ...prioritized].slice(0, count);
  if (ids.length === 0) return undefined;
  const pipeline = redis.pipeline();
  for (const id of ids) pipeline.hget(keys.record(id), 'cost');
  const costs = repliesOf(await pipeline.exec()).filter((cost) => cost !== null);
  return costs.length > 0
    ? costs.reduce<number>((sum, cost) => sum + Number(cost), 0) / costs.length
    : undefined;
}

async function waitedMs(redis: Redis, keys: Keys, ids: readonly JobId[]): Promise<Map<JobId, number>> {
  if (ids.length === 0) return new Map();
  const pipeline = redis.pipeline().time();
  for (const id of ids) pipeline.hget(keys.record(id), 'created_at');
  const [time, ...created] = repliesOf(await pipeline.exec()) as [(string | number)[], ...(string | null)[]];
  const now = Number(time[0]) * 1000 + Math.floor(Number(time[1]) / 1000);
  const ages = new Map<JobId, number>();
  for (const [i, at] of created.entries()) {
    if (at !== null) ages.set(ids[i], Math.max(0, now - Number(at)));
  }
  return ages;
}
