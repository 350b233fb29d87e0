/**
 * Frees memory of Redis before it is full: removes ended jobs of the tenants that hold more than their fair share of it. So a tenant
 * that fills it pays with its own finished jobs.
 */
import { readFileSync } from 'node:fs';
import type { Clock, Log, Metrics, TenantId } from '@lehr/shared';
import { defineScript, type Keys, type Redis, readMemory } from '@lehr/shared/redis';
import { fairBytes, measureRecords } from './record-bytes.ts';

const REMOVE_LUA = readFileSync(new URL('./remove-ended.lua', import.meta.url), 'utf8');
/** From this share of maxmemory on. */
export const REMOVAL_SHARE = 0.7;
/** A caller has this long to read the end of a job. */
const MIN_ENDED_MS = 60_000;
const EVERY_MS = 1000;
/** For as long as a round takes at most, so that a process that dies in it does not end the rounds. */
const TURN_MS = 10_000;
/** Jobs per call of the script: few, so that Redis serves others in between. */
const CHUNK = 50;

interface BoundParts {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly metrics: Pick<Metrics<'api'>, 'recordsRemoved'>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Every API process looks at the memory once a second; one of them removes. Returns a function that stops it. */
export function keepRecordsBounded(parts: BoundParts): () => Promise<void> {
  const stop = new AbortController();
  const rounds = boundUntil(parts, stop.signal);
  return async () => {
    stop.abort();
    await rounds;
  };
}

async function boundUntil(parts: BoundParts, signal: AbortSignal): Promise<void> {
  const { clock, log } = parts;
  while (!signal.aborted) {
    await clock.sleep(EVERY_MS, signal);
    if (signal.aborted) return;
    try {
      await boundRecords(parts, signal);
    } catch (error) {
      log.warn({ error }, 'could not remove ended jobs to free memory; trying again');
    }
  }
}

/** One round; returns how many jobs were removed. */
export async function boundRecords(parts: BoundParts, signal?: AbortSignal): Promise<number> {
  const { redis, keys } = parts;
  const memory = await readMemory(redis);
  if (!memory || memory.share < REMOVAL_SHARE || !(await takeTurn(redis, keys))) return 0;
  let removed = 0;
  try {
    const held = await measureRecords(redis, keys);
    const fair = fairBytes(held, memory, REMOVAL_SHARE);
    for (const [tenant, bytes] of held) {
      if (bytes > fair && !signal?.aborted) removed += await removeEnded(parts, tenant, bytes - fair, signal);
    }
  } finally {
    await redis.del(keys.boundingRecords);
  }
  return removed;
}

/** A Redis that is full refuses the mark of the turn; then every process takes one. */
async function takeTurn(redis: Redis, keys: Keys): Promise<boolean> {
  try {
    return (await redis.set(keys.boundingRecords, '1', 'PX', TURN_MS, 'NX')) === 'OK';
  } catch (error) {
    if ((error as Error).message.startsWith('OOM')) return true;
    throw error;
  }
}

/** Removes the oldest ended jobs of the tenant until this many bytes are free, or no job is left that may be removed. */
async function removeEnded(
  { redis, keys, metrics, log }: BoundParts,
  tenant: TenantId,
  bytes: number,
  signal: AbortSignal | undefined,
): Promise<number> {
  const script = defineScript(redis, 'lehrRemoveEnded', REMOVE_LUA);
  const names = [keys.jobsOf(tenant), keys.outbox, keys.undelivered];
  let removed = 0;
  let freed = 0;
  for (let skipped = 0, goesOn = true; goesOn && freed < bytes && !signal?.aborted; ) {
    const reply = await script.run(names, [keys.prefix, skipped, CHUNK, bytes - freed, MIN_ENDED_MS]);
    const [jobs, size, kept, more] = reply as [number, number, number, number];
    removed += jobs;
    freed += size;
    skipped += kept;
    goesOn = more === 1;
  }
  if (removed === 0) return 0;
  metrics.recordsRemoved.inc(removed);
  log.warn({ tenant, removed, freed }, 'removed the oldest ended jobs of a tenant: they filled Redis');
  return removed;
}
