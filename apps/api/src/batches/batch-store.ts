/**
 * Batches in Redis. A batch is one hash: facts, counters, and what is known of its few slices that are not collected. Its lines and its
 * answers are in the object store (slices.ts), so a batch of any size takes the same few kilobytes here.
 *
 *   validating --> in_progress --> ending --> completed, failed, expired or cancelled
 *
 * `ending` is the time in which the last jobs end and their answers are stored; `reason` says what the batch ends as.
 */
import { readFileSync } from 'node:fs';
import {
  BATCH_ENDPOINTS,
  type BatchId,
  type FieldProblem,
  isBatchId,
  LehrError,
  PRIORITY_CLASSES,
  storedJson,
  type TenantId,
} from '@lehr/shared';
import { defineScript, type Keys, type Redis, redisNow, type Script } from '@lehr/shared/redis';
import { z } from 'zod';
import type { TakeOptions } from '../base/take-due.ts';
import { OPEN_DELIVERY_LUA, type OpenArguments } from '../webhooks/deliveries/deliveries.ts';

const script = (name: string): string => readFileSync(new URL(`./${name}.lua`, import.meta.url), 'utf8');

const number = z.coerce.number();
const REASONS = ['completed', 'failed', 'expired', 'cancelled'] as const;
export type Reason = (typeof REASONS)[number];

/** Where the lines come from. Those of all but a sweep are copied into slices; those of a sweep are made of it, so many for each slice. */
const SourceSchema = z.discriminatedUnion('from', [
  z.object({ from: z.literal('file'), file: z.string() }),
  z.object({ from: z.literal('requests') }),
  z.object({ from: z.literal('sweep'), slice_lines: z.int() }),
  z.object({ from: z.literal('retry'), batch: z.custom<BatchId>((value) => typeof value === 'string') }),
]);

const BatchErrorSchema = z.object({
  code: z.string(),
  message: z.string(),
  param: z.string().nullable(),
  line: z.int().nullable(),
});
export type BatchError = z.output<typeof BatchErrorSchema>;

const BatchRecordSchema = z.object({
  id: z.custom<BatchId>((value) => typeof value === 'string'),
  tenant: z.custom<TenantId>((value) => typeof value === 'string'),
  /** The key that asked for it: its jobs are made with the rights and limits that this key has then. */
  key: z.string(),
  endpoint: z.enum(BATCH_ENDPOINTS),
  source: storedJson(SourceSchema),
  completion_window: z.string(),
  priority: z.enum(PRIORITY_CLASSES),
  metadata: storedJson(z.record(z.string(), z.string())),
  /** The URL that is told when it has ended. */
  webhook: z.string().optional(),
  state: z.enum(['validating', 'in_progress', 'ending', ...REASONS]),
  reason: z.enum(REASONS).optional(),
  errors: storedJson(z.array(BatchErrorSchema)).optional(),
  created_at: number,
  expires_at: number,
  in_progress_at: number.optional(),
  ending_at: number.optional(),
  cancelling_at: number.optional(),
  ended_at: number.optional(),
  /** Lines; and slices, which are numbered from 0. */
  total: number.default(0),
  slices: number.default(0),
  /** The slice whose jobs are made next, and how many of its lines are done. */
  next: number.default(0),
  sent: number.default(0),
  collected: number.default(0),
  completed: number.default(0),
  failed: number.default(0),
  /** Lines of collected slices whose answers are in the output. */
  written: number.default(0),
  /** Turns in a row that an error of the server has ended. */
  stalls: number.default(0),
});
export type BatchRecord = z.output<typeof BatchRecordSchema> & {
  /** Slices that have begun and are not collected. */
  readonly open: readonly OpenSlice[];
};

/** Why a line has no job. Its code may be none of a LehrError: the batch ended before it. */
export interface LineFault {
  readonly code: string;
  readonly message: string;
  readonly problems?: readonly FieldProblem[];
}

export interface OpenSlice {
  readonly slice: number;
  /** When it began: the time in the ids of its jobs. */
  readonly at: number;
  /** Its jobs, when all are made. */
  readonly jobs: number | undefined;
  readonly ended: number;
}

export const isEnded = ({ state }: Pick<BatchRecord, 'state'>): boolean =>
  REASONS.some((reason) => reason === state);

type Fields = Readonly<Record<string, string | number | object | undefined>>;

export type NewBatch = Pick<
  BatchRecord,
  | 'id'
  | 'tenant'
  | 'key'
  | 'endpoint'
  | 'source'
  | 'completion_window'
  | 'priority'
  | 'metadata'
  | 'webhook'
  | 'state'
  | 'total'
  | 'slices'
>;

export interface BatchPage {
  readonly batches: readonly BatchRecord[];
  readonly hasMore: boolean;
}

const HOUR_MS = 3_600_000;

/** KEYS[1] the batch, [2] `batches-due`; ARGV[1] its id; then fields and values, with the reason first. */
const END_LUA = `
if redis.call('HSETNX', KEYS[1], ARGV[2], ARGV[3]) == 0 then return 0 end
if #ARGV > 3 then redis.call('HSET', KEYS[1], unpack(ARGV, 4)) end
if redis.call('HEXISTS', KEYS[1], 'fed') == 1 then
  redis.call('HSET', KEYS[1], 'again', 1)
else
  local time = redis.call('TIME')
  redis.call('ZADD', KEYS[2], 'XX', time[1] * 1000 + math.floor(time[2] / 1000), ARGV[1])
end
return 1`;

/**
 * The end, once: KEYS[1] the batch, [2] `batches-due`, [3] `batches-open` of its tenant, [4] and [5] those of its webhook, if it has one;
 * ARGV[1] its id, [2] how long it is kept, ms, [3] how many fields and values follow; then those of the delivery.
 */
const FINISH_LUA = `${OPEN_DELIVERY_LUA}
if redis.call('HEXISTS', KEYS[1], 'ended_at') == 1 then return 0 end
local fields = tonumber(ARGV[3])
redis.call('HSET', KEYS[1], unpack(ARGV, 4, 3 + fields))
redis.call('PEXPIRE', KEYS[1], ARGV[2])
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('SREM', KEYS[3], ARGV[1])
if KEYS[4] then
  local at = 3 + fields
  open_delivery(KEYS[4], KEYS[5], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], { unpack(ARGV, at + 4) })
end
return 1`;

export class BatchStore {
  readonly #redis: Redis;
  readonly #keys: Keys;
  readonly #create: Script;
  readonly #release: Script;
  readonly #close: Script;
  readonly #end: Script;
  readonly #finish: Script;
  readonly #take: Script;

  constructor(redis: Redis, keys: Keys) {
    this.#redis = redis;
    this.#keys = keys;
    this.#create = defineScript(redis, 'lehrCreateBatch', script('create-batch'));
    this.#release = defineScript(redis, 'lehrReleaseBatch', script('release-batch'));
    this.#close = defineScript(redis, 'lehrCloseSlice', script('close-slice'));
    this.#end = defineScript(redis, 'lehrEndBatch', END_LUA);
    this.#finish = defineScript(redis, 'lehrFinishBatch', FINISH_LUA);
    this.#take = defineScript(redis, 'lehrTakeBatches', script('take-batches'));
  }

  /** Ids of batches that are due, of as many tenants as possible. */
  async take({ count, holdMs }: TakeOptions): Promise<BatchId[]> {
    const prefix = this.#keys.batch('' as BatchId);
    return (await this.#take.run([this.#keys.batchesDue], [prefix, count, holdMs])) as BatchId[];
  }

  /** False when the tenant has `max` unfinished ones. */
  async create({ id, tenant, ...fields }: NewBatch, max: number | null): Promise<boolean> {
    const keys = this.#keys;
    const windowMs = Number.parseInt(fields.completion_window, 10) * HOUR_MS;
    const reply = await this.#create.run(
      [keys.batch(id), keys.batchesDue, keys.batchesOf(tenant), keys.openBatchesOf(tenant)],
      [id, max ?? '', windowMs, ...flat({ tenant, ...fields })],
    );
    return reply !== null;
  }

  async read(id: BatchId): Promise<BatchRecord | undefined> {
    const hash = await this.#redis.hgetall(this.#keys.batch(id));
    return hash.id === undefined ? undefined : { ...BatchRecordSchema.parse(hash), open: openSlices(hash) };
  }

  /** Throws the same `not-found` for an id that is malformed, unknown, or of another tenant. */
  async find(tenant: TenantId, id: string): Promise<BatchRecord> {
    const batch = isBatchId(id) ? await this.read(id) : undefined;
    if (batch?.tenant === tenant) return batch;
    throw new LehrError('not-found', 'There is no such batch. It may have been deleted after its time.');
  }

  /** Newest first, those that are older than `after`. */
  async page(tenant: TenantId, limit: number, after: string | undefined): Promise<BatchPage> {
    const key = this.#keys.batchesOf(tenant);
    const from = after === undefined ? '+' : `(${after}`;
    const ids = (await this.#redis.zrange(
      key,
      from,
      '-',
      'BYLEX',
      'REV',
      'LIMIT',
      0,
      limit + 1,
    )) as BatchId[];
    const found = await Promise.all(ids.map((id) => this.read(id)));
    const gone = ids.filter((_, i) => !found[i]);
    if (gone.length > 0) await this.#redis.zrem(key, ...gone);
    const batches = found.filter((each) => each !== undefined);
    return { batches: batches.slice(0, limit), hasMore: ids.length > limit };
  }

  async write(id: BatchId, fields: Fields): Promise<void> {
    await this.#redis.hset(this.#keys.batch(id), ...flat(fields));
  }

  /** Begins a turn: a slice that ends meanwhile is noted. */
  async enter(id: BatchId): Promise<void> {
    await this.#redis.multi().hset(this.#keys.batch(id), 'fed', 1).hdel(this.#keys.batch(id), 'again').exec();
  }

  /** No other process takes the batch for this long. */
  async hold(id: BatchId, holdMs: number): Promise<void> {
    await this.#redis.zadd(this.#keys.batchesDue, 'XX', (await redisNow(this.#redis)) + holdMs, id);
  }

  async release(id: BatchId, waitMs: number): Promise<void> {
    await this.#release.run([this.#keys.batch(id), this.#keys.batchesDue], [id, Math.round(waitMs)]);
  }

  /** When the slice began: now, or at an earlier attempt. */
  async begin(id: BatchId, slice: number): Promise<number> {
    const key = this.#keys.batch(id);
    await this.#redis.hsetnx(key, `at:${slice}`, await redisNow(this.#redis));
    return Number(await this.#redis.hget(key, `at:${slice}`));
  }

  /** The refused lines of a slice, by their number in it. */
  async refused(id: BatchId, slice: number): Promise<Record<string, LineFault>> {
    return JSON.parse((await this.#redis.hget(this.#keys.batch(id), `bad:${slice}`)) ?? '{}');
  }

  /** False when it was closed before. `written` is of its lines those that succeeded. */
  async closeSlice(id: BatchId, slice: number, withoutJob: number, written: number): Promise<boolean> {
    return (await this.#close.run([this.#keys.batch(id)], [slice, withoutJob, written])) === 1;
  }

  /** A turn was ended by an error of the server. */
  async noteStall(id: BatchId): Promise<void> {
    await this.#redis.hincrby(this.#keys.batch(id), 'stalls', 1);
  }

  /** Asks for an end. False when the batch has ended, or ends already. */
  async end(id: BatchId, reason: Reason, fields: Fields = {}): Promise<boolean> {
    const keys = [this.#keys.batch(id), this.#keys.batchesDue];
    return (await this.#end.run(keys, [id, ...flat({ reason, ...fields })])) === 1;
  }

  /** The end and its webhook, in one step. False when it has ended before. */
  async finish(
    { id, tenant }: BatchRecord,
    fields: Fields,
    keptMs: number,
    webhook: OpenArguments = { keys: [], args: [] },
  ): Promise<boolean> {
    const keys = this.#keys;
    const changes = flat(fields);
    return (
      (await this.#finish.run(
        [keys.batch(id), keys.batchesDue, keys.openBatchesOf(tenant), ...webhook.keys],
        [id, keptMs, changes.length, ...changes, ...webhook.args],
      )) === 1
    );
  }

  now(): Promise<number> {
    return redisNow(this.#redis);
  }
}

function openSlices(hash: Readonly<Record<string, string>>): OpenSlice[] {
  return Object.keys(hash)
    .filter((name) => name.startsWith('at:'))
    .map((name) => Number(name.slice(3)))
    .sort((a, b) => a - b)
    .map((slice) => ({
      slice,
      at: Number(hash[`at:${slice}`]),
      jobs: hash[`jobs:${slice}`] === undefined ? undefined : Number(hash[`jobs:${slice}`]),
      ended: Number(hash[`ended:${slice}`] ?? 0),
    }));
}

const flat = (fields: Fields): (string | number)[] =>
  Object.entries(fields).flatMap(([name, value]) =>
    value === undefined ? [] : [name, typeof value === 'object' ? JSON.stringify(value) : value],
  );
