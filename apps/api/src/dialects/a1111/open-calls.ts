/**
 * The unfinished jobs of a key's calls of txt2img and img2img. The web UI has one progress and one interrupt for all of its users; here they are
 * about the calls of the key that asks, whichever API process holds them.
 */
import type { Clock, JobId } from '@lehr/shared';
import { isTerminal, type JobOutline, type RecordStore } from '@lehr/shared/records';
import type { Keys, Redis } from '@lehr/shared/redis';

/** A job that has not ended by then is no longer found. */
const KEPT_MS = 3_600_000;
/** Read at once. */
const MOST_READ = 64;

interface OpenCallParts {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly records: RecordStore;
  readonly clock: Clock;
}

export async function noteCall(
  { redis, keys, clock }: OpenCallParts,
  keyId: string,
  id: JobId,
): Promise<void> {
  const key = keys.webUiJobs(keyId);
  const now = clock.now();
  await redis
    .multi()
    .zremrangebyscore(key, '-inf', now - KEPT_MS)
    .zadd(key, now, id)
    .pexpire(key, KEPT_MS)
    .exec();
}

export async function forgetCalls(
  { redis, keys }: OpenCallParts,
  keyId: string,
  ...ids: readonly JobId[]
): Promise<void> {
  if (ids.length > 0) await redis.zrem(keys.webUiJobs(keyId), ...ids);
}

export interface OpenCalls {
  /** Those behind the ones that are read may have ended a moment ago. */
  readonly count: number;
  /** The one that was made first. */
  readonly oldest: JobOutline | undefined;
}

/** Calls whose caller has hung up count until their job has ended. */
export async function openCalls(parts: OpenCallParts, keyId: string): Promise<OpenCalls> {
  const { redis, keys, records } = parts;
  const ids = (await redis.zrange(keys.webUiJobs(keyId), '0', String(MOST_READ - 1))) as JobId[];
  if (ids.length === 0) return { count: 0, oldest: undefined };
  const { records: found } = await records.outlines(ids);
  const open = found.flatMap((record) => (record && !isTerminal(record.state) ? [record] : []));
  const ended = ids.filter((id) => !open.some((record) => record.id === id));
  await forgetCalls(parts, keyId, ...ended);
  // All that were read have ended; the ones behind them are read now.
  if (open.length === 0 && ids.length === MOST_READ) return openCalls(parts, keyId);
  const kept = ids.length < MOST_READ ? open.length : await redis.zcard(keys.webUiJobs(keyId));
  return { count: kept, oldest: open[0] };
}
