/**
 * Requests that got no answer, with their jobs: the connection broke, or the hold ended before the job. Clients without an
 * Idempotency-Key retry, and the next duplicate of the request takes the job over instead of making a second one (admit.lua
 * takes each job once). Jobs that no caller asks for in time are abandoned, and cancelled.
 */
import { type Clock, every, type JobId, type Log, type Metrics, type TenantId } from '@lehr/shared';
import type { DuplicateRequest, GroupQueues, WorkflowRunner } from '@lehr/shared/queue';
import type { Move, RecordStore } from '@lehr/shared/records';
import { defineScript, type Keys, type Redis, redisNow, type Script } from '@lehr/shared/redis';
import type { Context } from 'hono';
import type { ApiEnv } from '../../http/middleware/api-env.ts';
import { leaveQueue } from '../cancel.ts';

/** Clients retry within seconds. */
const RETRY_WINDOW_MS = 60_000;
/** Longer than any hold; a request whose API process died counts as held until then. */
const MAX_HELD_MS = 300_000;
/** A retry in the last moment of the window has adopted the job by then. */
const ADOPTION_GRACE_MS = 2_000;
/** Jobs of one script. */
const BATCH = 100;

/**
 * KEYS[1] <prefix>:unanswered:<hash>; ARGV[1] job id, ARGV[2] how long it counts, ms. One command instead of the four of a transaction,
 * because every held call sends it.
 */
const MARK_HELD_LUA = `
redis.call('ZADD', KEYS[1], 'inf', ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])`;

export class UnansweredRequests {
  readonly #redis: Redis;
  readonly #keys: Keys;
  readonly #markHeld: Script;

  constructor(redis: Redis, keys: Keys) {
    this.#redis = redis;
    this.#keys = keys;
    this.#markHeld = defineScript(redis, 'lehrMarkHeld', MARK_HELD_LUA);
  }

  /** The request waits for its job. Only duplicates that say they are retries may take the job now (see DuplicateRequest). */
  async markHeld({ hash }: DuplicateRequest, id: JobId): Promise<void> {
    await this.#markHeld.run([this.#keys.unanswered(hash)], [id, MAX_HELD_MS]);
  }

  /** The request was answered and is not retried. */
  async markAnswered({ hash }: DuplicateRequest, id: JobId): Promise<void> {
    await this.#redis.zrem(this.#keys.unanswered(hash), id);
  }

  /**
   * The request was not answered. With the tenant of its job, the job is abandoned when no retry takes it, and its tenant does not ask for
   * it, in the retry window.
   */
  async markUnanswered(
    { hash }: DuplicateRequest,
    id: JobId,
    { tenant }: { readonly tenant?: TenantId | undefined } = {},
  ): Promise<void> {
    const key = this.#keys.unanswered(hash);
    const until = (await redisNow(this.#redis)) + RETRY_WINDOW_MS;
    const writes = this.#redis.multi().zadd(key, until, id).pexpire(key, MAX_HELD_MS);
    if (tenant !== undefined) writes.zadd(this.#keys.abandoned, until, entryOf(tenant, id));
    await writes.exec();
  }

  /** A retry has taken the job over, or its tenant has asked for it: it is cancelled no more. */
  async adopt(tenant: TenantId, id: JobId): Promise<void> {
    await this.#redis.zrem(this.#keys.abandoned, entryOf(tenant, id));
  }

  /** Some of the jobs whose window is over. transition.lua decides which of them are abandoned. */
  async due(): Promise<Pick<Move, 'id' | 'abandoned'>[]> {
    const before = (await redisNow(this.#redis)) - ADOPTION_GRACE_MS;
    const entries = await this.#redis.zrangebyscore(this.#keys.abandoned, '-inf', before, 'LIMIT', 0, BATCH);
    return entries.map((entry) => ({ id: entry.split(' ')[1] as JobId, abandoned: { entry, before } }));
  }
}

const entryOf = (tenant: TenantId, id: JobId): string => `${tenant} ${id}`;

/** Calls `onClosed` once when the answer has been sent or its connection has closed; at once if that is so already. */
export function onClosedAnswer(c: Context<ApiEnv>, onClosed: () => void): void {
  const outgoing = c.env?.outgoing;
  // Tests call the app without a connection; nothing waits to be sent there.
  if (!outgoing || outgoing.destroyed) onClosed();
  else outgoing.on('close', onClosed);
}

/** Calls `onLost` once if the connection closes, or has closed already, before the whole answer is written. */
export function onLostAnswer(c: Context<ApiEnv>, onLost: () => void): void {
  const outgoing = c.env?.outgoing;
  // No answer is lost without a connection.
  if (!outgoing) return;
  onClosedAnswer(c, () => {
    if (!outgoing.writableFinished) onLost();
  });
}

interface AbandonedParts {
  readonly unanswered: UnansweredRequests;
  readonly records: RecordStore;
  readonly queues: GroupQueues;
  readonly workflows: WorkflowRunner;
  readonly metrics: Pick<Metrics<'api'>, 'janitorActions'>;
  readonly clock: Clock;
  readonly log: Log;
}

const SWEEP_EVERY_MS = 10_000;

/** Every API process sweeps; each job goes to one of them. Returns a function that stops the sweeps. */
export const sweepAbandoned = (parts: AbandonedParts): (() => Promise<void>) =>
  every(SWEEP_EVERY_MS, () => cancelAbandoned(parts), {
    ...parts,
    failed: 'could not cancel abandoned jobs; trying again',
  });

/** One sweep. A job that runs already is left to finish. */
export async function cancelAbandoned(parts: AbandonedParts): Promise<void> {
  for (;;) {
    const due = await parts.unanswered.due();
    if (due.length === 0) return;
    const outcomes = await parts.records.apply(due.map((job) => ({ move: 'cancel', ...job })));
    const canceled = due.filter((_, i) => outcomes[i].code === 'ok').map(({ id }) => id);
    parts.metrics.janitorActions.inc({ action: 'canceled' }, canceled.length);
    const { records } = await parts.records.outlines(canceled);
    for (const record of records) if (record) await leaveQueue(parts, record);
  }
}
