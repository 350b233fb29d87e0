/**
 * Puts scheduled jobs into their queues when their time has come, and parked ones when they may start. Every API process does it, each for
 * the jobs that it takes.
 */
import { every, type JobId, type Log, type Metrics } from '@lehr/shared';
import { Releaser, type ReleaserOptions } from '@lehr/shared/queue';
import { takerOf } from '../base/take-due.ts';

/** A job is late by up to this much; so is the next job of a concurrency key. */
const EVERY_MS = 100;
/** Per round trip: few enough that Redis serves other commands in between. */
const TAKEN = 100;
/** Jobs of a process that died are due again after this. */
const AGAIN_MS = 5_000;

interface ReleaseParts extends ReleaserOptions {
  readonly metrics: Pick<Metrics<'api'>, 'janitorActions'>;
  readonly clock: Parameters<typeof every>[2]['clock'];
  readonly log: Log;
}

/** Returns a function that stops it. */
export const releaseScheduled = (parts: ReleaseParts): (() => Promise<void>) => {
  const releaser = new Releaser(parts);
  return every(EVERY_MS, (signal) => releaseDue(parts, releaser, signal), {
    ...parts,
    failed: 'could not release scheduled jobs; trying again',
  });
};

/** One round. The times are those of Redis's clock. Returns how many jobs entered their queues. */
export async function releaseDue(
  { redis, keys, metrics }: ReleaseParts,
  releaser: Releaser,
  signal?: AbortSignal,
): Promise<number> {
  const take = takerOf(redis, keys.scheduledJobs);
  let released = 0;
  let due: string[];
  do {
    due = await take({ count: TAKEN, holdMs: AGAIN_MS });
    const count = due.length === 0 ? 0 : (await releaser.release(due as JobId[])).length;
    if (count > 0) metrics.janitorActions.inc({ action: 'released' }, count);
    released += count;
  } while (due.length === TAKEN && !signal?.aborted);
  return released;
}
