/** What the records of each tenant take of the memory of Redis, and the fair share of it. */
import { readFileSync } from 'node:fs';
import type { TenantId } from '@lehr/shared';
import { defineScript, type Keys, type Redis, type RedisMemory } from '@lehr/shared/redis';

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
export type RecordBytes = ReadonlyMap<TenantId, number>;

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
export function fairBytes(held: RecordBytes, { usedBytes, maxBytes }: RedisMemory, share: number): number {
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
