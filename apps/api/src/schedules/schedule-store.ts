/** Schedules in Redis: a hash with the request and the next time of each, and a sorted set by when they are due. */
import { readFileSync } from 'node:fs';
import {
  ERROR_CODES,
  type ErrorCode,
  type JobId,
  LehrError,
  ScheduleRequestSchema,
  storedJson,
  type TenantId,
} from '@lehr/shared';
import { defineScript, type Keys, type Redis, redisNow, type Script } from '@lehr/shared/redis';
import { z } from 'zod';
import { takerOf } from '../base/take-due.ts';

const ADVANCE_LUA = readFileSync(new URL('./advance.lua', import.meta.url), 'utf8');
/** Of one tenant. */
export const MAX_SCHEDULES = 1000;
const RUNS_KEPT = 10;
const ID = /^schedule_[0-7][0-9a-hjkmnp-tv-z]{25}$/;

const StoredScheduleSchema = z.object({
  id: z.string(),
  tenant: z.custom<TenantId>((value) => typeof value === 'string'),
  /** The key that makes its jobs, with the rights and limits that it has then. */
  key: z.string(),
  wanted: storedJson(ScheduleRequestSchema),
  created_at: z.coerce.number(),
  /** The next time that has no run yet, ms. */
  next: z.coerce.number(),
  /** The job of the last run that has one. */
  last_job: z.custom<JobId>((value) => typeof value === 'string').optional(),
  /** Its key was not valid when it was due. */
  ended: z.literal('1').optional(),
});
export type StoredSchedule = z.output<typeof StoredScheduleSchema>;

const RunSchema = z.object({
  at: z.number(),
  job: z.custom<JobId>((value) => typeof value === 'string').optional(),
  note: z.enum(['refused', 'skipped', 'missed']).optional(),
  error: z
    .object({ code: z.enum(Object.keys(ERROR_CODES) as [ErrorCode, ...ErrorCode[]]), detail: z.string() })
    .optional(),
});
export type StoredRun = z.output<typeof RunSchema>;

export class ScheduleStore {
  readonly #redis: Redis;
  readonly #keys: Keys;
  readonly #advance: Script;
  /** Takes ids of schedules that are due. */
  readonly take: ReturnType<typeof takerOf>;

  constructor(redis: Redis, keys: Keys) {
    this.#redis = redis;
    this.#keys = keys;
    this.#advance = defineScript(redis, 'lehrAdvanceSchedule', ADVANCE_LUA);
    this.take = takerOf(redis, keys.schedulesDue);
  }

  now(): Promise<number> {
    return redisNow(this.#redis);
  }

  count(tenant: TenantId): Promise<number> {
    return this.#redis.zcard(this.#keys.schedulesOf(tenant));
  }

  /** Stores a new one, or one that is changed. */
  async write({ wanted, last_job: _, ended: __, ...facts }: StoredSchedule): Promise<void> {
    const { schedule, schedulesDue, schedulesOf } = this.#keys;
    const { id, tenant, next } = facts;
    const change = this.#redis
      .multi()
      .hset(schedule(id), { ...facts, wanted: JSON.stringify(wanted) })
      .hdel(schedule(id), 'ended')
      .zadd(schedulesOf(tenant), 0, id);
    await (wanted.paused ? change.zrem(schedulesDue, id) : change.zadd(schedulesDue, next, id)).exec();
  }

  async read(id: string): Promise<StoredSchedule | undefined> {
    const hash = await this.#redis.hgetall(this.#keys.schedule(id));
    return hash.id === undefined ? undefined : StoredScheduleSchema.parse(hash);
  }

  /** Throws the same `not-found` for an id that is malformed, unknown, or of another tenant. */
  async find(tenant: TenantId, id: string): Promise<StoredSchedule> {
    const found = ID.test(id) ? await this.read(id) : undefined;
    if (found?.tenant === tenant) return found;
    throw new LehrError('not-found', 'There is no such schedule. It may have been deleted.');
  }

  /** Newest first. */
  async list(tenant: TenantId): Promise<StoredSchedule[]> {
    const ids = await this.#redis.zrevrange(this.#keys.schedulesOf(tenant), 0, -1);
    return (await Promise.all(ids.map((id) => this.read(id)))).filter((each) => each !== undefined);
  }

  async delete({ id, tenant }: Pick<StoredSchedule, 'id' | 'tenant'>): Promise<void> {
    const { schedule, schedulesDue, schedulesOf, scheduleRuns } = this.#keys;
    const change = this.#redis.multi().del(schedule(id), scheduleRuns(id)).zrem(schedulesDue, id);
    await change.zrem(schedulesOf(tenant), id).exec();
  }

  async runs(id: string): Promise<StoredRun[]> {
    const texts = await this.#redis.lrange(this.#keys.scheduleRuns(id), 0, -1);
    return texts.map((text) => RunSchema.parse(JSON.parse(text)));
  }

  /** False when another process has done it, or the schedule was changed or deleted. */
  async advance({ id, next }: StoredSchedule, to: number, run?: StoredRun): Promise<boolean> {
    const keys = [this.#keys.schedule(id), this.#keys.schedulesDue, this.#keys.scheduleRuns(id)];
    const args = [id, next, to, run ? JSON.stringify(run) : '', run?.job ?? '', RUNS_KEPT];
    return (await this.#advance.run(keys, args)) === 1;
  }

  /** It is due again after this time, with the same run. */
  async postpone(id: string, waitMs: number): Promise<void> {
    await this.#redis.zadd(this.#keys.schedulesDue, 'XX', (await this.now()) + Math.round(waitMs), id);
  }

  /** It makes no more jobs until it is changed; one that was deleted leaves the set. */
  async end(id: string): Promise<void> {
    const change = this.#redis.multi().zrem(this.#keys.schedulesDue, id);
    if (await this.read(id)) change.hset(this.#keys.schedule(id), 'ended', '1');
    await change.exec();
  }
}
