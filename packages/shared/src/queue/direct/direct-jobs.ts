/**
 * Direct jobs: small text jobs that have no record, because their caller asked for none (`durability: "none"`). An admitted job goes to a
 * worker as one message, and its end comes back as one. Their place in the limits of the tenant is the reservation that admission makes.
 */
import { readFileSync } from 'node:fs';
import type { JobId, WorkerId } from '../../base/ids.ts';
import {
  COUNT_USE_LUA,
  DEFAULT_USAGE_MS,
  encodeRecord,
  IS_PAUSED_LUA,
  type JobRecord,
  type NewJob,
  parseStoredRecord,
} from '../../records/index.ts';
import { defineScript, type Keys, type Redis, type Script } from '../../redis/index.ts';
import { BUDGET_LUA, type GroupQueues } from '../index.ts';

const SEND_LUA = IS_PAUSED_LUA + readFileSync(new URL('./send.lua', import.meta.url), 'utf8');
const END_LUA = BUDGET_LUA + COUNT_USE_LUA + readFileSync(new URL('./end.lua', import.meta.url), 'utf8');

/**
 * A direct job that has not ended by then is given up. Less than the ten seconds after which the reconciler frees the reservation of a job
 * without a record.
 */
export const DIRECT_MS = 8_000;
/** Direct jobs that a worker may have at once; what comes beyond them waits in line, with a record. */
export const MAX_DIRECT = 64;
/** Price of a direct job, estimated engine ms: as many as a worker may have end in time, one after the other. */
export const MAX_DIRECT_COST_MS = 100;
/** The code with which a worker ends a direct job that it did not run: it drains, its engine is down, or the model is closed. */
export const HANDED_BACK = 'unavailable';

export type RunningRecord = Extract<JobRecord, { state: 'running' }>;
export type EndedRecord = Exclude<JobRecord, { state: 'scheduled' | 'queued' | 'running' }>;

export class DirectJobs {
  readonly #redis: Redis;
  readonly #keys: Keys;
  readonly #send: Script;
  readonly #end: Script;
  readonly #usageMs: number;

  /** `usageMs`: how long the use of a day is kept. */
  constructor(redis: Redis, keys: Keys, usageMs = DEFAULT_USAGE_MS) {
    this.#usageMs = usageMs;
    this.#redis = redis;
    this.#keys = keys;
    this.#send = defineScript(redis, 'lehrSendDirect', SEND_LUA);
    this.#end = defineScript(redis, 'lehrEndDirect', END_LUA);
  }

  /**
   * Sends an admitted job to the worker that has the fewest of them; one round trip. Undefined when jobs of the group wait, its model or
   * tenant is paused, or none of these workers has room or listens: then nothing was sent.
   */
  async send(
    job: NewJob,
    queues: GroupQueues,
    workers: readonly WorkerId[],
  ): Promise<RunningRecord | undefined> {
    const { id, queue, model, tenant, priority, fair_tag = 0 } = job;
    const { prioritizedKey, waitKey } = queues.of(queue);
    const reply = await this.#send.run(
      [
        prioritizedKey,
        waitKey,
        this.#keys.fair(queue),
        this.#keys.groups,
        this.#keys.groupLooks,
        this.#keys.pauses,
        ...workers.map((worker) => this.#keys.direct(worker)),
      ],
      [
        id,
        queue,
        priority,
        fair_tag,
        MAX_DIRECT,
        DIRECT_MS,
        JSON.stringify(encodeRecord(job)),
        model,
        tenant,
      ],
    );
    if (reply === null) return undefined;
    const [number, now] = reply as [number, number];
    return runningRecord(job, now, workers[number - 1]);
  }

  /** Whether the worker still listens. A worker that was killed does not, from the moment its connection is gone. */
  async isHeard(worker: WorkerId): Promise<boolean> {
    return (await this.#redis.publish(this.#keys.direct(worker), '')) > 0;
  }

  /** Asks the worker to cancel the job. */
  async cancel(worker: WorkerId, id: JobId): Promise<void> {
    await this.#redis.publish(this.#keys.cancel(worker), id);
  }

  /**
   * Frees the reservation of the job and sends its end to the process that holds the request. `costMs` is the real cost, estimated
   * engine ms. False when the job had ended already: nothing was charged or sent.
   */
  async end(job: RunningRecord, ended?: EndedRecord, costMs: number = job.cost): Promise<boolean> {
    const { id, tenant, queue, priority, payer, held_by, worker } = job;
    const message = ended ? `${id} ${JSON.stringify(Object.entries(encodeRecord(ended)).flat())}` : '';
    const reply = await this.#end.run(
      [
        this.#keys.liveOf(tenant),
        this.#keys.live,
        this.#keys.reserved,
        this.#keys.direct(worker ?? ('none' as WorkerId)),
        this.#keys.fair(queue),
        this.#keys.fairTags(queue, priority),
        this.#keys.budget(payer?.key ?? 'none'),
      ],
      [
        id,
        tenant,
        priority,
        costMs - job.cost,
        payer?.budget_ms ?? '',
        payer?.weight ?? 1,
        ended && held_by !== undefined ? this.#keys.ended(held_by) : '',
        message,
        ended && !isHandedBack(ended) ? this.#useOf(ended) : '',
      ],
    );
    return reply === 1;
  }

  #useOf({ tenant, model, payer, ...ended }: EndedRecord): string {
    const device_ms = ended.state === 'succeeded' ? (ended.metrics.device_ms ?? ended.cost) : 0;
    const { prefix } = this.#keys;
    const key = payer?.key ?? '-';
    return JSON.stringify({ tenant, key, model, state: ended.state, device_ms, prefix, kept: this.#usageMs });
  }
}

/** It may run again, then with a record. */
const isHandedBack = (ended: EndedRecord): boolean =>
  ended.state === 'failed' && ended.error.code === HANDED_BACK;

/** A message of `send` to this worker; undefined when it holds no job that can be read. */
export function readDirectJob(message: string, worker: WorkerId): RunningRecord | undefined {
  const space = message.indexOf(' ');
  const now = Number(message.slice(0, space));
  const fields = fieldsOf(message.slice(space + 1));
  if (!fields || space < 0) return undefined;
  const queued = { ...fields, state: 'queued', rev: '1', attempt: '0', created_at: String(now) };
  const record = parseStoredRecord(fields.id as JobId, queued);
  return record && runningRecord(record, now, worker);
}

function fieldsOf(json: string): Record<string, string> | undefined {
  try {
    return JSON.parse(json) as Record<string, string>;
  } catch {
    return undefined;
  }
}

const runningRecord = (job: NewJob, now: number, worker: WorkerId): RunningRecord => ({
  ...job,
  state: 'running',
  rev: 2,
  attempt: 1,
  created_at: job.admitted_at ?? now,
  started_at: now,
  worker,
});
