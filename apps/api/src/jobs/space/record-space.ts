/**
 * The space for records in Redis: whether there is memory for one more job of a tenant, and what is removed before Redis is full. Ended
 * jobs of the tenants that hold more than their fair share of it go first, so a tenant that fills it pays with its own finished jobs.
 */
import { readFileSync } from 'node:fs';
import { type Clock, every, LehrError, type Log, type Metrics, type TenantId } from '@lehr/shared';
import {
  defineScript,
  FULL_SHARE,
  type Keys,
  type Redis,
  type RedisMemory,
  readMemory,
} from '@lehr/shared/redis';
import { QuotaError, randomRetryAfterS } from '../../access/quotas.ts';
import { Recent } from '../../base/recent.ts';

/** From this share of maxmemory on, a tenant that holds more than its fair share may not add to it. */
const TENANT_SHARE = 0.75;
/** All requests of this time share one reading: short, because many large jobs may be stored in a second. */
const READING_TTL_MS = 200;
/** Memory becomes free when jobs end and records expire, which takes longer than a moment. */
const RETRY_AFTER_S = 30;
const BYTES_PER_MB = 1_000_000;

interface Reading {
  readonly share: number;
  /** What each tenant holds, and how much of it is fair; absent while there is space for everybody. */
  readonly held?: { readonly bytes: RecordBytes; readonly fair: number };
}

export class RecordSpace {
  readonly #reading: Recent<Reading | undefined>;

  constructor(redis: Redis, keys: Keys, clock: Clock) {
    this.#reading = new Recent(() => read(redis, keys), READING_TTL_MS, clock);
  }

  /** Throws `overloaded` when Redis is full for all, and QuotaError when it is for this tenant. */
  async check(tenant: TenantId): Promise<void> {
    const reading = await this.#reading.get();
    if (!reading) return;
    if (reading.share >= FULL_SHARE) throw full(reading.share);
    const { held } = reading;
    const bytes = held?.bytes.get(tenant) ?? 0;
    if (held && bytes > held.fair) throw aboveShare(bytes, held.fair);
  }
}

async function read(redis: Redis, keys: Keys): Promise<Reading | undefined> {
  const memory = await readMemory(redis);
  if (!memory) return undefined;
  const { share } = memory;
  if (share < TENANT_SHARE || share >= FULL_SHARE) return { share };
  const bytes = await measureRecords(redis, keys);
  return { share, held: { bytes, fair: fairBytes(bytes, memory, REMOVAL_SHARE) } };
}

/** Jobs that wait can only run, be cancelled or expire while Redis takes writes. */
const full = (share: number): LehrError =>
  new LehrError('overloaded', `The queue's memory is full (${Math.round(share * 100)} % of maxmemory).`, {
    retryAfterS: randomRetryAfterS(RETRY_AFTER_S),
  });

function aboveShare(bytes: number, fair: number): QuotaError {
  const limit = Math.floor(fair / BYTES_PER_MB);
  return new QuotaError(
    `The queue's memory is almost full, and the jobs of this tenant take ${Math.ceil(bytes / BYTES_PER_MB)} MB of it, where ` +
      `its share is ${limit} MB. Ended jobs are removed a minute after their end; DELETE /v1/jobs/{id} removes one at once.`,
    { limit, remaining: 0, resetS: RETRY_AFTER_S },
  );
}

const MEASURE_LUA = readFileSync(new URL('./measure-records.lua', import.meta.url), 'utf8');
/** Jobs that a measurement of all tenants draws; of one tenant at least and at most so many. */
const DRAWN = 4096;
const MIN_DRAWN = 8;
const MAX_DRAWN = 64;
/** Tenants that are measured, those with the most jobs. The jobs of the others count as large as theirs on average. */
const MAX_MEASURED = DRAWN / MIN_DRAWN;
/** Tenants and draws of one call, which is then shorter than a millisecond or two: Redis serves others in between. */
const COUNTED_AT_ONCE = 500;
const DRAWN_AT_ONCE = 128;
/** A tenant that holds less than this share of maxmemory loses no records, and is not refused alone. */
const SMALL_SHARE = 0.01;

/** Bytes by tenant. They are estimates: each call draws other jobs. */
type RecordBytes = ReadonlyMap<TenantId, number>;

export async function measureRecords(redis: Redis, keys: Keys): Promise<RecordBytes> {
  const tenants = (await redis.smembers(keys.tenants)) as TenantId[];
  const counts = await measure(redis, keys, tenants, { draws: 0, atOnce: COUNTED_AT_ONCE });
  const byJobs = [...counts].sort(([, a], [, b]) => b.jobs - a.jobs).map(([tenant]) => tenant);
  const largest = byJobs.slice(0, MAX_MEASURED);
  const draws = Math.max(MIN_DRAWN, Math.min(MAX_DRAWN, Math.floor(DRAWN / Math.max(1, largest.length))));
  const measured = await measure(redis, keys, largest, { draws, atOnce: Math.floor(DRAWN_AT_ONCE / draws) });
  const sum = (of: 'jobs' | 'bytes') => [...measured.values()].reduce((all, each) => all + each[of], 0);
  const bytesPerJob = sum('bytes') / Math.max(1, sum('jobs'));
  return new Map(
    tenants.map((tenant) => {
      const jobs = counts.get(tenant)?.jobs ?? 0;
      return [tenant, measured.get(tenant)?.bytes ?? Math.ceil(jobs * bytesPerJob)];
    }),
  );
}

interface Measured {
  readonly jobs: number;
  readonly bytes: number;
}

async function measure(
  redis: Redis,
  keys: Keys,
  tenants: readonly TenantId[],
  { draws, atOnce }: { readonly draws: number; readonly atOnce: number },
): Promise<Map<TenantId, Measured>> {
  const script = defineScript(redis, 'lehrMeasureRecords', MEASURE_LUA);
  const measured = new Map<TenantId, Measured>();
  for (let i = 0; i < tenants.length; i += atOnce) {
    const slice = tenants.slice(i, i + atOnce);
    const replies = await script.run(
      [keys.tenants, ...slice.map((tenant) => keys.jobsOf(tenant))],
      [keys.prefix, draws, ...slice],
    );
    for (const [at, [jobs, bytes]] of (replies as [number, number][]).entries()) {
      measured.set(slice[at], { jobs, bytes });
    }
  }
  return measured;
}

/** The bytes that a tenant may hold so that all together fill `share` of maxmemory, with what is no record. */
function fairBytes(held: RecordBytes, { usedBytes, maxBytes }: RedisMemory, share: number): number {
  const together = [...held.values()].reduce((sum, bytes) => sum + bytes, 0);
  const other = Math.max(0, usedBytes - together);
  return Math.max(maxBytes * SMALL_SHARE, fairLevel(held.values(), maxBytes * share - other));
}

/**
 * The level at which the amounts, each cut down to it, are `capacity` together (max-min fairness): who holds less than the level
 * keeps all, and those above it share the rest equally. Infinite when nothing has to be cut.
 */
export function fairLevel(amounts: Iterable<number>, capacity: number): number {
  const ascending = [...amounts].sort((a, b) => a - b);
  let left = capacity;
  for (const [i, amount] of ascending.entries()) {
    const level = left / (ascending.length - i);
    if (amount > level) return Math.max(0, level);
    left -= amount;
  }
  return Number.POSITIVE_INFINITY;
}

const REMOVE_LUA = readFileSync(new URL('./remove-ended.lua', import.meta.url), 'utf8');
/** From this share of maxmemory on. */
const REMOVAL_SHARE = 0.7;
/** A caller has this long to read the end of a job. */
const MIN_ENDED_MS = 60_000;
const EVERY_MS = 1000;
const SECOND_MS = 1000;
/** A round ends after this, and the turn of a process that died in its round after TURN_MS. */
const ROUND_MS = 5_000;
const TURN_MS = 10_000;
/** Jobs per call of the script: few, so that Redis serves others in between. */
const CHUNK = 50;
/** Jobs of one tenant that a round looks at. The next round goes on behind them. */
const LOOKED_AT = 5_000;
/** When several processes may remove at once, each removes at most this share of maxmemory in a round. */
const SHARED_TURN = 0.01;

/** Jobs at the beginning of a tenant's list that the last round left, because they may not be removed yet. */
type Skipped = Map<TenantId, number>;

interface BoundParts {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly metrics: Pick<Metrics<'api'>, 'recordsRemoved'>;
  /** The outputs of a removed job stay as long as the links to them that its caller may have. */
  readonly linkTtlS: number;
  readonly clock: Clock;
  readonly log: Log;
}

/** Every API process looks at the memory once a second; one of them removes. Returns a function that stops it. */
export function keepRecordsBounded(parts: BoundParts): () => Promise<void> {
  const skipped: Skipped = new Map();
  return every(EVERY_MS, (signal) => boundRecords(parts, signal, skipped), {
    ...parts,
    failed: 'could not remove ended jobs to free memory; trying again',
  });
}

/** One round; returns how many jobs were removed. */
export async function boundRecords(
  parts: BoundParts,
  stop?: AbortSignal,
  skipped: Skipped = new Map(),
): Promise<number> {
  const { redis, keys } = parts;
  const memory = await readMemory(redis);
  if (!memory || memory.share < REMOVAL_SHARE) return 0;
  const turn = await takeTurn(redis, keys);
  if (turn === undefined) return 0;
  const most = turn === 'shared' ? memory.maxBytes * SHARED_TURN : Number.POSITIVE_INFINITY;
  const signal = AbortSignal.any([AbortSignal.timeout(ROUND_MS), ...(stop ? [stop] : [])]);
  let removed = 0;
  try {
    const held = await measureRecords(redis, keys);
    const fair = fairBytes(held, memory, REMOVAL_SHARE);
    for (const [tenant, bytes] of held) {
      const wanted = Math.min(bytes - fair, most);
      if (wanted > 0 && !signal.aborted) removed += await removeEnded(parts, tenant, wanted, skipped, signal);
    }
  } finally {
    if (turn === 'alone') await redis.del(keys.boundingRecords);
  }
  return removed;
}

/** A Redis that is full refuses the mark of the turn; then all processes share one. Undefined when another process has it. */
async function takeTurn(redis: Redis, keys: Keys): Promise<'alone' | 'shared' | undefined> {
  try {
    const isTaken = (await redis.set(keys.boundingRecords, '1', 'PX', TURN_MS, 'NX')) === 'OK';
    return isTaken ? 'alone' : undefined;
  } catch (error) {
    if ((error as Error).message.startsWith('OOM')) return 'shared';
    throw error;
  }
}

/** Removes the oldest ended jobs of the tenant until this many bytes are free, or it has looked at as many as a round may. */
async function removeEnded(
  { redis, keys, metrics, linkTtlS, log }: BoundParts,
  tenant: TenantId,
  bytes: number,
  skipped: Skipped,
  signal: AbortSignal,
): Promise<number> {
  const script = defineScript(redis, 'lehrRemoveEnded', REMOVE_LUA);
  const names = [
    ...[keys.jobsOf(tenant), keys.outbox, keys.undelivered, keys.leftovers],
    keys.deferredOf(tenant),
  ];
  let removed = 0;
  let freed = 0;
  let skip = skipped.get(tenant) ?? 0;
  let goesOn = true;
  for (let looked = 0; goesOn && looked < LOOKED_AT && freed < bytes && !signal.aborted; looked += CHUNK) {
    const wanted = Math.ceil(bytes - freed);
    const reply = await script.run(names, [
      keys.prefix,
      skip,
      CHUNK,
      wanted,
      MIN_ENDED_MS,
      tenant,
      linkTtlS * SECOND_MS,
    ]);
    const [jobs, size, kept, more] = reply as [number, number, number, number];
    removed += jobs;
    freed += size;
    skip += kept;
    goesOn = more === 1;
  }
  // After a round that removed jobs or came to the end, the next one begins with the oldest jobs again: more may have ended.
  if (goesOn && removed === 0) skipped.set(tenant, skip);
  else skipped.delete(tenant);
  if (removed === 0) return 0;
  metrics.recordsRemoved.inc(removed);
  log.warn({ tenant, removed, freed }, 'removed the oldest ended jobs of a tenant: they filled Redis');
  return removed;
}
