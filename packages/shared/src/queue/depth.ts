/**
 * How full the group queues are, and who waits in which order: the queue list, wait estimates, metrics and the live view are made from this.
 */
import type { JobId, TenantId } from '../base/ids.ts';
import { PRIORITY_CLASSES, type PriorityClass } from '../contracts/job.ts';
import type { Keys, Redis } from '../redis/index.ts';
import { repliesOf } from '../redis/script.ts';
import type { GroupQueue } from './group-queue.ts';
import type { GroupQueues } from './group-queues.ts';
import { CLASS_SPAN, classOfScore, firstScore } from './score.ts';

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

export interface WaitingLine {
  readonly queue: string;
  /** Estimated engine ms of its jobs. */
  readonly ms: number;
  readonly jobs: Readonly<Record<PriorityClass, number>>;
  /** Its first jobs, in the order in which they are claimed. */
  readonly next: readonly { readonly id: JobId; readonly priority: PriorityClass }[];
}

export interface WaitingLines {
  /** Those with the most engine time first. */
  readonly lines: readonly WaitingLine[];
  /** How many lines there are besides. */
  readonly more: number;
  /** Estimated engine ms of the jobs of all lines. */
  readonly ms: number;
}

export interface LinesRead {
  readonly maxLines: number;
  /** The most jobs of a line. */
  readonly maxNext: number;
}

const COMMANDS_PER_LINE = PRIORITY_CLASSES.length + 1;

/** Three round trips, whatever the number of jobs. */
export async function readWaitingLines(
  redis: Redis,
  keys: Keys,
  queues: GroupQueues,
  { maxLines, maxNext }: LinesRead,
): Promise<WaitingLines> {
  const sums = [...(await readLoads(redis, keys))]
    .map(([queue, load]) => ({ queue, ms: PRIORITY_CLASSES.reduce((sum, each) => sum + load[each], 0) }))
    .sort((a, b) => b.ms - a.ms);
  const shown = sums.slice(0, maxLines);
  const pipeline = redis.pipeline();
  for (const { queue } of shown) {
    const { prioritizedKey } = queues.of(queue);
    for (const priority of PRIORITY_CLASSES) {
      const from = firstScore(priority);
      pipeline.zcount(prioritizedKey, from, from + CLASS_SPAN - 1);
    }
    pipeline.zrange(prioritizedKey, '0', String(maxNext - 1), 'WITHSCORES');
  }
  const replies = repliesOf(await pipeline.exec());
  const lines = shown.map((line, i) => {
    const of = replies.slice(i * COMMANDS_PER_LINE, (i + 1) * COMMANDS_PER_LINE);
    const [interactive, standard, bulk, next] = of as [number, number, number, string[]];
    return { ...line, jobs: { interactive, standard, bulk }, next: headsOf(next) };
  });
  return { lines, more: sums.length - shown.length, ms: sums.reduce((sum, { ms }) => sum + ms, 0) };
}

/** Of the reply to ZRANGE: id, score, id, score ... */
function headsOf(reply: readonly string[]): WaitingLine['next'] {
  const heads: { id: JobId; priority: PriorityClass }[] = [];
  for (let i = 0; i < reply.length; i += 2) {
    heads.push({ id: reply[i] as JobId, priority: classOfScore(Number(reply[i + 1])) });
  }
  return heads;
}

/** What one tenant has waiting: its estimated engine ms, and which of these jobs are its own. */
export async function readOwnWaiting(
  redis: Redis,
  keys: Keys,
  tenant: TenantId,
  ids: readonly JobId[],
): Promise<{ readonly ms: number; readonly ids: ReadonlySet<JobId> }> {
  const pipeline = redis.pipeline().hgetall(keys.loadOf(tenant));
  for (const id of ids) pipeline.zscore(keys.liveOf(tenant), id);
  const [loads, ...scores] = repliesOf(await pipeline.exec()) as [
    Record<string, string>,
    ...(string | null)[],
  ];
  const ms = Object.values(loads).reduce((sum, load) => sum + Math.max(0, Number(load)), 0);
  return { ms: Math.round(ms), ids: new Set(ids.filter((_, i) => scores[i] !== null)) };
}
