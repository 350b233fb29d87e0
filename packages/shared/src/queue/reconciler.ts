/** Repairs, from the records, what a crash between two writes left behind. */
import { readFileSync } from 'node:fs';
import type { JobId, TenantId } from '../base/ids.ts';
import {
  isTerminal,
  type JobOutline,
  PLANNED_LUA,
  type RecordStore,
  SCHEMA_VERSION,
} from '../records/index.ts';
import { defineScript, type Keys, type Redis } from '../redis/index.ts';
import { Failures } from './failures.ts';
import type { GroupQueues } from './group-queues.ts';
import { listGroups } from './retire.ts';
import { firstScore } from './score.ts';
import { WORKFLOW_QUEUE } from './workflow-runner.ts';

const SUSPECTS_LUA = readFileSync(new URL('./suspects.lua', import.meta.url), 'utf8');
const UNPLAN_LUA = `${PLANNED_LUA}\nunplan(ARGV[1], ARGV[2], ARGV[3])`;
/** A younger job may still be on its way into the queue. */
const SETTLE_MS = 10_000;
/** Ids per command: few enough that Redis serves other commands in between. */
const CHUNK = 200;
/** BullMQ's error code when the parent of a new child does not exist. */
const PARENT_MISSING = -5;

/**
 * Requeues jobs with an unfinished record and no BullMQ job (Redis lost the end of its log between the two writes, or the
 * job was removed by hand). Returns their ids. Ends early when the signal is aborted. A job that cannot be requeued does not keep
 * the others from it; its error is thrown after them.
 *
 * It reads with ZSCAN, which returns every job that is live from the start to the end of the search, whatever is added and
 * removed meanwhile. A script examines each slice, so that a million live jobs that are in their queues cost no process more than
 * some thousand short commands.
 */
export async function requeueLost(
  redis: Redis,
  keys: Keys,
  queues: GroupQueues,
  records: RecordStore,
  now: number,
  signal?: AbortSignal,
): Promise<JobId[]> {
  const requeued: JobId[] = [];
  const failures = new Failures();
  const script = defineScript(redis, 'lehrSuspects', SUSPECTS_LUA);
  let cursor = '0';
  do {
    const reply = await script.run(
      [keys.live],
      [cursor, CHUNK, now - SETTLE_MS, keys.prefix, SCHEMA_VERSION],
    );
    const [next, suspects] = reply as [string, JobId[]];
    cursor = next;
    if (suspects.length === 0) continue;
    for (const record of await lostAmong({ redis, keys, queues, records, failures }, suspects, now)) {
      await failures.try(async () => {
        await records.apply([{ move: 'requeue', id: record.id }]);
        await addAgain(queues, record);
        requeued.push(record.id);
      });
    }
  } while (cursor !== '0' && !signal?.aborted);
  failures.throwAny('lost jobs to requeue');
  return requeued;
}

interface SearchParts {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly queues: GroupQueues;
  readonly records: RecordStore;
  readonly failures: Failures;
}

/** Also drops ids without a record, and marks workflows as due. */
async function lostAmong(parts: SearchParts, ids: readonly JobId[], now: number): Promise<JobOutline[]> {
  const { redis, keys, records } = parts;
  const { records: live, missing } = await records.outlines(ids);
  if (missing.length > 0) await dropWithoutRecord(redis, keys, missing);
  const unfinished = live.filter((record) => record && !isTerminal(record.state)) as JobOutline[];
  const workflows = unfinished.filter(({ workflow }) => workflow);
  // A workflow has no place in a queue to lose; it is advanced again. One that is marked already keeps its place.
  if (workflows.length > 0) {
    await redis.zadd(keys.workflows, 'NX', ...workflows.flatMap(({ id }) => [now, id]));
  }
  const queued = unfinished.filter(({ workflow }) => !workflow);
  // Recovery and workers look at listed groups only, and the group of a lost job was empty, so it may have been retired.
  await listGroups(
    redis,
    keys,
    queued.map(({ queue }) => queue),
  );
  return withoutJob(parts, queued);
}

/** Drops live ids without a record: it was deleted, or its process died between admission and writing it. */
async function dropWithoutRecord(redis: Redis, keys: Keys, ids: readonly JobId[]): Promise<void> {
  const reserved = await redis.hmget(keys.reserved, ...ids);
  const unplan = defineScript(redis, 'lehrUnplan', UNPLAN_LUA);
  const pipeline = redis.pipeline();
  const idempotencyKeys: string[] = [];
  for (const [i, reservation] of reserved.entries()) {
    if (reservation === null) continue;
    const [tenant, idempotency] = reservation.split(' ');
    await unplan.run([], [keys.prefix, tenant, ids[i]]);
    pipeline.zrem(keys.liveOf(tenant as TenantId), ids[i]);
    if (idempotency) idempotencyKeys.push(idempotency);
  }
  // The requests made no jobs, so the next ones with their idempotency keys are new. Without the reservations, which are removed
  // last, nothing would lead to these keys.
  if (idempotencyKeys.length > 0) await redis.del(...idempotencyKeys);
  pipeline.zrem(keys.live, ...ids).hdel(keys.reserved, ...ids);
  for (const [error] of (await pipeline.exec()) ?? []) if (error) throw error;
}

/** The records whose BullMQ job is missing or already finished. */
async function withoutJob(
  { redis, queues, failures }: SearchParts,
  candidates: readonly JobOutline[],
): Promise<JobOutline[]> {
  const pipeline = redis.pipeline();
  for (const record of candidates)
    pipeline.hmget(queues.of(record.queue).jobKey(record.id), 'timestamp', 'finishedOn');
  const replies = (await pipeline.exec()) ?? [];
  const missing: JobOutline[] = [];
  for (const [i, [error, reply]] of replies.entries()) {
    await failures.try(async () => {
      if (error) throw error;
      const [added, finished] = reply as (string | null)[];
      if (added !== null && finished === null) return;
      if (finished !== null) await queues.of(candidates[i].queue).remove(candidates[i].id);
      missing.push(candidates[i]);
    });
  }
  return missing;
}

/** Adds a node as a child of its flow, or alone if BullMQ has lost the flow; then the records alone drive the workflow. */
async function addAgain(queues: GroupQueues, record: JobOutline): Promise<void> {
  const queue = queues.of(record.queue);
  const job = { ...record, admitted_at: record.admitted_at ?? record.created_at };
  const score = record.score ?? firstScore(record.priority);
  if (record.parent) {
    try {
      await queue.add(job, score, { id: record.parent, queue: queues.of(WORKFLOW_QUEUE) });
      return;
    } catch (error) {
      if ((error as { code?: number }).code !== PARENT_MISSING) throw error;
    }
  }
  await queue.add(job, score);
}

/**
 * Expires all waiting jobs whose deadline has passed; workers stop running ones. Returns the expired jobs. Ends early when the
 * signal is aborted.
 */
export async function expireOverdue(
  redis: Redis,
  keys: Keys,
  queues: GroupQueues,
  records: RecordStore,
  now: number,
  signal?: AbortSignal,
): Promise<JobOutline[]> {
  const expired: JobOutline[] = [];
  // Running jobs stay in the set until their workers have stopped them, and jobs that cannot be read until a process can.
  let passed = 0;
  while (!signal?.aborted) {
    const overdue = (await redis.zrangebyscore(
      keys.deadlines,
      '-inf',
      now,
      'LIMIT',
      passed,
      CHUNK,
    )) as JobId[];
    if (overdue.length === 0) break;
    const outcomes = await records.apply(overdue.map((id) => ({ move: 'expire', id })));
    const gone = overdue.filter((_, i) => outcomes[i].code === 'missing');
    if (gone.length > 0) await redis.zrem(keys.deadlines, ...gone);
    const ids = overdue.filter((_, i) => outcomes[i].code === 'ok');
    const found = (await records.outlines(ids)).records.filter((record) => record !== undefined);
    await Promise.all(found.map((record) => queues.of(record.queue).remove(record.id)));
    expired.push(...found);
    passed += outcomes.filter(({ code }) => code === 'stale' || code === 'unreadable').length;
  }
  return expired;
}
