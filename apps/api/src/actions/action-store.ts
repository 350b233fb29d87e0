/** Actions on many jobs in Redis: a hash of each, and a sorted set of those that have not ended, by when they are worked on next. */
import { readFileSync } from 'node:fs';
import {
  type AuditAction,
  JOB_ACTION_STATES,
  JOB_ACTIONS,
  JobActionErrorSchema,
  JobFilterSchema,
  type JobId,
  LehrError,
  PRIORITY_CLASSES,
  storedJson,
  type TenantId,
} from '@lehr/shared';
import { defineScript, type Keys, type Redis, redisNow, type Script } from '@lehr/shared/redis';
import { z } from 'zod';
import { APPEND_AUDIT_LUA, type AuditTarget } from '../access/audit/audit-log.ts';
import { takerOf } from '../base/take-due.ts';

const CHANGE_LUA = `${APPEND_AUDIT_LUA}\n${readFileSync(new URL('./change-action.lua', import.meta.url), 'utf8')}`;

/** KEYS[1] the action, KEYS[2] `job-actions-due`; ARGV[1] its id. */
const CANCEL_LUA = `
if redis.call('HGET', KEYS[1], 'status') ~= 'running' then return 0 end
redis.call('HSET', KEYS[1], 'status', 'canceling')
local time = redis.call('TIME')
redis.call('ZADD', KEYS[2], 'XX', time[1] * 1000 + math.floor(time[2] / 1000), ARGV[1])
return 1`;

/** Of one tenant, that have not ended. */
export const MAX_OPEN_ACTIONS = 10;
const MAX_LISTED = 100;
const ID = /^bulk_[0-7][0-9a-hjkmnp-tv-z]{25}$/;
/** The cursor of an action that has found all its jobs. */
export const AT_END = 'end';

const number = z.coerce.number();
const StoredActionSchema = z.object({
  id: z.string(),
  tenant: z.custom<TenantId>((value) => typeof value === 'string'),
  /** The key that asked for it: what it does is done with the rights and limits that this key has then. */
  key: z.string(),
  action: z.enum(JOB_ACTIONS),
  priority: z.enum(PRIORITY_CLASSES).optional(),
  filter: storedJson(JobFilterSchema),
  status: z.enum(JOB_ACTION_STATES),
  created_at: number,
  ended_at: number.optional(),
  count: number,
  count_is_exact: z.stringbool(),
  /** Of the list, or AT_END. */
  cursor: z.string(),
  /** Jobs that were found, and to which the action applied then; it may have been done to some. */
  page: storedJson(z.array(z.custom<JobId>((value) => typeof value === 'string'))),
  /** The time in the ids of the jobs that repeat those of the page. */
  page_at: number.default(0),
  /** How often it was changed. */
  step: z.string(),
  /** Turns without a job done, one after the other. */
  stalls: number.default(0),
  matched: number.default(0),
  done: number.default(0),
  skipped: number.default(0),
  failed: number.default(0),
  errors: storedJson(z.array(JobActionErrorSchema)),
});
export type StoredAction = z.output<typeof StoredActionSchema>;

type Fields = { readonly [Name in keyof StoredAction]?: StoredAction[Name] | undefined };
type Counters = Partial<Record<'matched' | 'done' | 'skipped' | 'failed', number>>;

export interface ActionChange {
  readonly set: Fields;
  readonly add?: Counters;
  /** Appended to the audit log with the change. */
  readonly audit?: {
    readonly action: AuditAction;
    readonly address: string | null;
    readonly changes: Readonly<Record<string, unknown>>;
  };
}

export class ActionStore {
  readonly #redis: Redis;
  readonly #keys: Keys;
  readonly #audit: AuditTarget;
  readonly #keptMs: number;
  readonly #change: Script;
  readonly #cancel: Script;
  /** Takes ids of actions that are due. */
  readonly take: ReturnType<typeof takerOf>;

  /** `keptMs`: how long an action is kept after its end. */
  constructor(redis: Redis, keys: Keys, audit: AuditTarget, keptMs: number) {
    this.#redis = redis;
    this.#keys = keys;
    this.#audit = audit;
    this.#keptMs = keptMs;
    this.#change = defineScript(redis, 'lehrChangeAction', CHANGE_LUA);
    this.#cancel = defineScript(redis, 'lehrCancelAction', CANCEL_LUA);
    this.take = takerOf(redis, keys.jobActionsDue);
  }

  now(): Promise<number> {
    return redisNow(this.#redis);
  }

  /** `changed`: by another process since it was read; `full`: the tenant has too many. A new action has the step ''. */
  async change(
    { id, tenant, key, step }: Pick<StoredAction, 'id' | 'tenant' | 'key' | 'step'>,
    { set, add = {}, audit }: ActionChange,
  ): Promise<'ok' | 'changed' | 'full'> {
    const { jobAction, jobActionsDue, jobActionsOf, openJobActionsOf } = this.#keys;
    const facts = audit && { ...audit, actor: key, tenant, target: id };
    const reply = await this.#change.run(
      [jobAction(id), jobActionsDue, jobActionsOf(tenant), openJobActionsOf(tenant), this.#audit.key],
      [
        ...[id, step, JSON.stringify([textsOf(set), add]), this.#keptMs],
        ...[facts ? JSON.stringify(facts) : '', this.#audit.retentionMs, MAX_OPEN_ACTIONS],
      ],
    );
    if (reply === 1 && audit) this.#audit.appended(audit.action);
    return reply === 1 ? 'ok' : reply === 0 ? 'changed' : 'full';
  }

  async read(id: string): Promise<StoredAction | undefined> {
    const hash = await this.#redis.hgetall(this.#keys.jobAction(id));
    return hash.id === undefined ? undefined : StoredActionSchema.parse(hash);
  }

  /** Throws the same `not-found` for an id that is malformed, unknown, or of another tenant. */
  async find(tenant: TenantId, id: string): Promise<StoredAction> {
    const found = ID.test(id) ? await this.read(id) : undefined;
    if (found?.tenant === tenant) return found;
    throw new LehrError('not-found', 'There is no such action. It may have been deleted after its time.');
  }

  /** The latest ones, newest first. */
  async list(tenant: TenantId): Promise<StoredAction[]> {
    const key = this.#keys.jobActionsOf(tenant);
    const ids = await this.#redis.zrange(key, '+', '-', 'BYLEX', 'REV', 'LIMIT', 0, MAX_LISTED);
    const found = await Promise.all(ids.map((id) => this.read(id)));
    const gone = ids.filter((_, i) => !found[i]);
    if (gone.length > 0) await this.#redis.zrem(key, ...gone);
    return found.filter((each) => each !== undefined);
  }

  /** The process that works on it, or the next one, ends it. */
  async cancel(id: string): Promise<void> {
    await this.#cancel.run([this.#keys.jobAction(id), this.#keys.jobActionsDue], [id]);
  }

  /** It is due again after this time, unless it has ended. */
  async postpone(id: string, waitMs: number): Promise<void> {
    await this.#redis.zadd(this.#keys.jobActionsDue, 'XX', (await this.now()) + Math.round(waitMs), id);
  }

  /** For an id of which there is nothing. */
  async forget(id: string): Promise<void> {
    await this.#redis.zrem(this.#keys.jobActionsDue, id);
  }
}

const textsOf = (fields: Fields): Record<string, string> =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, typeof value === 'object' ? JSON.stringify(value) : String(value)]],
    ),
  );
