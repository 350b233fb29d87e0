/** What is shown of how the jobs of one version ended. Pure. */
import {
  type EndedJobs,
  ERROR_CODES,
  type ErrorCode,
  type Samples,
  type VersionOutcomes,
} from '@lehr/shared';
import { BUCKET_RATIO, parseOutcomes, parsePairs, type SideOutcomes } from '@lehr/shared/records';

const PERCENTILE = 0.95;

/** As administrators see it. */
export function presentSide({ ends, buckets }: SideOutcomes): VersionOutcomes {
  const bucket = percentileBucket(buckets);
  return {
    ...endedJobs(ends),
    failures: Object.fromEntries(failuresOf(ends)),
    // The middle of the bucket.
    p95: bucket === undefined ? null : rounded(BUCKET_RATIO ** (bucket + 0.5)),
  };
}

/** What the hash of a stage says of its two versions. */
export function samplesOf(hash: Readonly<Record<string, string>>): Samples {
  const { stable, canary } = parseOutcomes(hash);
  return { stable: endedJobs(stable.ends), canary: endedJobs(canary.ends), pairs: parsePairs(hash) };
}

export type Ends = SideOutcomes['ends'];

function endedJobs(ends: Ends): EndedJobs {
  const failed = failuresOf(ends).reduce((sum, [code, jobs]) => sum + (isServersFault(code) ? jobs : 0), 0);
  return { jobs: (ends.get('succeeded') ?? 0) + failed, failed };
}

export const failuresOf = (ends: Ends): readonly (readonly [string, number])[] =>
  [...ends].filter(([end]) => !NOT_FAILED.includes(end));

/** A job that was cancelled or that expired says nothing of its version. */
const NOT_FAILED: readonly string[] = ['succeeded', 'canceled', 'expired'];

/** A code of a newer version counts, too: a caller's fault would be known. */
export const isServersFault = (code: string): boolean =>
  !Object.hasOwn(ERROR_CODES, code) || ERROR_CODES[code as ErrorCode].status >= 500;

/** The bucket that the percentile is in; undefined without jobs. */
function percentileBucket(buckets: ReadonlyMap<number, number>): number | undefined {
  const all = [...buckets.values()].reduce((sum, jobs) => sum + jobs, 0);
  let seen = 0;
  for (const [bucket, jobs] of [...buckets].sort(([a], [b]) => a - b)) {
    seen += jobs;
    if (seen >= PERCENTILE * all) return bucket;
  }
  return undefined;
}

const rounded = (value: number): number => Math.round(value * 1000) / 1000;
