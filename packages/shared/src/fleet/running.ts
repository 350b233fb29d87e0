/**
 * What each worker runs at this moment, sample by sample. The workers write it with their reports, and only while an API
 * process asks for it with a key that expires. It is apart from the reports, which every API process reads every second.
 */
import { z } from 'zod';
import { CountsSchema } from '../base/counts.ts';
import type { TenantId, WorkerId } from '../base/ids.ts';
import { known, parsedStored } from '../base/other-versions.ts';
import { SCHEMA_VERSION } from '../records/unreadable.ts';
import type { Keys, Redis } from '../redis/index.ts';

/** The most samples that a worker reports: four lanes of 32 rows. */
export const MAX_RUNNING_REPORTED = 128;
/** A worker that is watched reports this often. */
export const WATCHED_EVERY_MS = 1_000;
/** Workers keep reporting for this long after the last reading. */
const WATCH_MS = 5_000;
/** Two reports may be late. With a longer life, a viewer who returns after a pause would first see samples that have ended. */
const RUNNING_TTL_MS = 3_000;

const RunningReportSchema = z.object({
  /** SCHEMA_VERSION of the worker. */
  v: z.number().optional(),
  samples: known(
    z.object({
      /** Known to the worker only; it names neither the job nor the tenant. */
      id: z.string(),
      queue: z.string(),
      job: z.string(),
      tenant: z.custom<TenantId>((value) => typeof value === 'string'),
      /** Steps of a picture, seconds of audio, or texts: done, and all of them. */
      step: z.number().nonnegative(),
      steps: z.number().positive(),
    }),
  ),
  /** Of each lane that ran since the report before. */
  calls: known(
    z.object({
      queue: z.string(),
      /** Mean rows that shared a call of the model. */
      rows_per_call: z.number().nonnegative(),
      calls_per_s: z.number().nonnegative(),
    }),
  ),
  /** Since the start of the worker. */
  counts: CountsSchema,
});
export type RunningReport = z.output<typeof RunningReportSchema>;

/** The report is read for 3 s: a worker that is watched replaces it every second. */
export async function reportRunning(
  redis: Redis,
  keys: Keys,
  id: WorkerId,
  report: RunningReport,
): Promise<void> {
  const text = JSON.stringify({ ...report, v: SCHEMA_VERSION });
  await redis.set(keys.runningOn(id), text, 'PX', RUNNING_TTL_MS);
}

/**
 * Asks the workers for their samples, and returns what they reported last; undefined for a worker that has not reported any, or in a
 * form that this process cannot read: its lanes are known from its other report.
 */
export async function readRunning(
  redis: Redis,
  keys: Keys,
  ids: readonly WorkerId[],
): Promise<readonly (RunningReport | undefined)[]> {
  const watch = redis.set(keys.runningWatched, '1', 'PX', WATCH_MS);
  const texts = ids.length === 0 ? [] : await redis.mget(ids.map((id) => keys.runningOn(id)));
  await watch;
  return texts.map((text) => (text === null ? undefined : parsedStored(RunningReportSchema, text)));
}
