/** What the records of each tenant take of the memory of Redis. */
import { readFileSync } from 'node:fs';
import type { TenantId } from '@lehr/shared';
import { defineScript, type Keys, type Redis, type RedisMemory } from '@lehr/shared/redis';
import { fairLevel } from './fair-level.ts';

const MEASURE_LUA = readFileSync(new URL('./measure-records.lua', import.meta.url), 'utf8');
/** Jobs that a measurement of all tenants draws; of one tenant at least and at most so many. */
const DRAWN = 4096;
const MIN_DRAWN = 8;
const MAX_DRAWN = 64;
/** A tenant that holds less than this share of maxmemory loses no records, and is not refused alone. */
const SMALL_SHARE = 0.01;

/** Bytes by tenant. They are estimates: each call draws other jobs. */
export type RecordBytes = ReadonlyMap<TenantId, number>;

export async function measureRecords(redis: Redis, keys: Keys): Promise<RecordBytes> {
  const tenants = (await redis.smembers(keys.tenants)) as TenantId[];
  const drawn = Math.max(MIN_DRAWN, Math.min(MAX_DRAWN, Math.floor(DRAWN / Math.max(1, tenants.length))));
  const script = defineScript(redis, 'lehrMeasureRecords', MEASURE_LUA);
  const bytes = await Promise.all(
    tenants.map((tenant) => script.run([keys.jobsOf(tenant), keys.tenants], [keys.prefix, tenant, drawn])),
  );
  return new Map(tenants.map((tenant, i) => [tenant, Number(bytes[i])]));
}

/** The bytes that a tenant may hold so that all together fill `share` of maxmemory, with what is no record. */
export function fairBytes(held: RecordBytes, { usedBytes, maxBytes }: RedisMemory, share: number): number {
  const together = [...held.values()].reduce((sum, bytes) => sum + bytes, 0);
  const other = Math.max(0, usedBytes - together);
  return Math.max(maxBytes * SMALL_SHARE, fairLevel(held.values(), maxBytes * share - other));
}
