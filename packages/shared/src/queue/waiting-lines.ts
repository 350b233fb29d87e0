/** Who waits, and in which order: the view of what Lehr is doing now is made from this. */

import type { JobId, TenantId } from '../base/ids.ts';
import { PRIORITY_CLASSES, type PriorityClass } from '../contracts/job.ts';
import type { Keys, Redis } from '../redis/index.ts';
import { repliesOf } from '../redis/replies.ts';
import { readLoads } from './depth.ts';
import type { GroupQueues } from './group-queues.ts';
import { CLASS_SPAN, classOfScore, firstScore } from './score.ts';

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
