/**
 * Compares the shadows that have ended with their jobs, twice a second in one of all API processes, and deletes them. If that process is
 * killed, another one continues; a pair is taken before it is compared, so that it counts at most once.
 */
import type { Clock, JobId, Log } from '@lehr/shared';
import { WorkLock } from '@lehr/shared/queue';
import { isTerminal, type JobRecord, parseShare, type RecordStore } from '@lehr/shared/records';
import { redisNow } from '@lehr/shared/redis';
import { SHADOW_FIELDS } from '../rollouts/shadow.ts';
import { cancelJob, type DeleteParts, deleteJob } from './cancel.ts';
import { pixelDifference, textDifference } from './output-difference.ts';
import { MAX_PAIRS } from './post-shadow.ts';
import { storedPixels } from './stored-pixels.ts';

export interface CompareParts extends DeleteParts {
  readonly records: RecordStore;
  readonly clock: Clock;
  readonly log: Log;
}

const EVERY_MS = 500;
const LOCK_MS = 5_000;
/** Of pairs: all, and a few more that were posted at the same moment. */
const PER_ROUND = 2 * MAX_PAIRS;
/** A pair whose job takes longer than this is not compared. */
const PATIENCE_MS = 15 * 60_000;

/** Returns the function that stops it. */
export function compareShadows(parts: CompareParts): () => Promise<void> {
  const { redis, keys, clock, log } = parts;
  const lock = new WorkLock(redis, keys.shadowLock, LOCK_MS);
  const stop = new AbortController();
  const rounds = (async () => {
    while (!stop.signal.aborted) {
      await clock.sleep(EVERY_MS, stop.signal);
      if (stop.signal.aborted) return;
      try {
        if ((await redis.zcard(keys.shadows)) > 0) await lock.hold((lost) => compareEnded(parts, lost));
      } catch (error) {
        log.warn({ error }, 'shadows could not be compared; trying again');
      }
    }
  })();
  return async () => {
    stop.abort();
    await rounds;
    // Redis may be gone by now; then the lock expires.
    await lock.release().catch(() => {});
  };
}

/** One round. */
export async function compareEnded(parts: CompareParts, signal?: AbortSignal): Promise<void> {
  const { redis, keys, records, log } = parts;
  const before = (await redisNow(redis)) - PATIENCE_MS;
  const entries = await redis.zrange(keys.shadows, '0', `${PER_ROUND - 1}`, 'WITHSCORES');
  for (let i = 0; i < entries.length; i += 2) {
    if (signal?.aborted) return;
    const pair = entries[i];
    const [original, shadow] = await records.readMany(pair.split(' ') as JobId[]);
    const isLate = Number(entries[i + 1]) < before;
    // The note is written before the record: a record that is missing may be on its way.
    if (!shadow && !isLate) continue;
    const isOver = isEnded(shadow) && (!original || isEnded(original));
    if (!isOver && !isLate) continue;
    if ((await redis.zrem(keys.shadows, pair)) === 0 || !shadow) continue;
    try {
      if (original && isEnded(shadow)) await compare(parts, original, shadow);
    } catch (error) {
      log.warn({ error, job: original?.id }, 'a shadow could not be compared with its job');
    }
    await discard(parts, shadow);
  }
}

const isEnded = (record: JobRecord | undefined): boolean => record !== undefined && isTerminal(record.state);

async function discard(parts: CompareParts, shadow: JobRecord): Promise<void> {
  if (isEnded(shadow)) await deleteJob(parts, shadow);
  // Its record is kept as long as that of any other job.
  else await cancelJob(parts, shadow);
}

async function compare(parts: CompareParts, original: JobRecord, shadow: JobRecord): Promise<void> {
  const share = parseShare(shadow.rollout);
  // The job was moved to the version of its shadow: there is nothing to compare.
  if (original.model === shadow.model) return;
  if (!share || original.state !== 'succeeded' || shadow.state !== 'succeeded') return;
  const difference = await differenceOf(parts, original, shadow);
  const { redis, keys } = parts;
  const counts = redis.multi();
  const key = keys.rolloutOutcomes(share.rollout);
  if (difference !== undefined) {
    counts.hincrby(key, SHADOW_FIELDS.jobs, 1).hincrbyfloat(key, SHADOW_FIELDS.difference, difference);
    if (difference === 0) counts.hincrby(key, SHADOW_FIELDS.equal, 1);
  }
  const ratio = (shadow.metrics.device_ms ?? 0) / (original.metrics.device_ms ?? 0);
  if (ratio > 0 && Number.isFinite(ratio)) {
    counts.hincrby(key, SHADOW_FIELDS.timed, 1).hincrbyfloat(key, SHADOW_FIELDS.logRatio, Math.log(ratio));
  }
  await counts.exec();
}

type Succeeded = Extract<JobRecord, { state: 'succeeded' }>;

/** Undefined when there is nothing to compare. */
async function differenceOf(
  { store }: CompareParts,
  { output: expected }: Succeeded,
  { output: actual }: Succeeded,
): Promise<number | undefined> {
  const [a, b] = [expected.images[0], actual.images[0]];
  if (!a || !b) return textDifference(expected, actual);
  // One after the other, and of several pictures only the first: pixels take much memory.
  const before = await storedPixels(store, a.key);
  const after = await storedPixels(store, b.key);
  return before && after ? pixelDifference(before, after) : undefined;
}
