/**
 * Frees memory of Redis before it is full: removes ended jobs of the tenants that hold more than their fair share of it. So a tenant
 * that fills it pays with its own finished jobs.
 */
import { readFileSync } from 'node:fs';
import { type Clock, every, type Log, type Metrics, type TenantId } from '@lehr/shared';
import { defineScript, type Keys, type Redis, readMemory } from '@lehr/shared/redis';
import { fairBytes, measureRecords } from './record-bytes.ts';

const REMOVE_LUA = readFileSync(new URL('./remove-ended.lua', import.meta.url), 'utf8');
/** From this share of maxmemory on. */
export const REMOVAL_SHARE = 0.7;
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
