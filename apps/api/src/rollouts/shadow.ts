/**
 * Shadows: jobs of the stable version that the canary runs a second time for comparison. Which jobs have one, and what is counted of them
 * in the hash of the rollout, beside what count-outcome.lua counts. Pure.
 */
import { createHash } from 'node:crypto';
import type { JobId, RolloutShadow } from '@lehr/shared';
import type { RolloutShare, SideOutcomes } from '@lehr/shared/records';
import { presentSide } from './outcomes.ts';
import type { StoredRollout } from './rollout.ts';

/** Whether this job gets a shadow; `share` is that of the job. */
export function hasShadow(
  rollout: StoredRollout | undefined,
  share: RolloutShare,
  job: JobId,
): rollout is StoredRollout {
  if (rollout?.state !== 'running' || share.side !== 'stable' || share.rollout !== rollout.id) return false;
  const digest = createHash('sha256').update(`${rollout.id}:shadow:${job}`).digest();
  return (digest.readUInt32BE(0) / 2 ** 32) * 100 < rollout.shadow;
}

/** Fields of the hash of a rollout. No version is named `compared`, so they are none of an outcome. */
export const SHADOW_FIELDS = {
  dropped: 'compared dropped',
  jobs: 'compared jobs',
  equal: 'compared equal',
  difference: 'compared difference',
  timed: 'compared timed',
  logRatio: 'compared log-ratio',
} as const;

/** `difference` and `logRatio` are sums; `timed` is the number of jobs whose times are in `logRatio`. */
export type ShadowCounts = Readonly<Record<keyof typeof SHADOW_FIELDS, number>>;

export const parseShadowCounts = (hash: Readonly<Record<string, string>>): ShadowCounts => ({
  dropped: Number(hash[SHADOW_FIELDS.dropped] ?? 0),
  jobs: Number(hash[SHADOW_FIELDS.jobs] ?? 0),
  equal: Number(hash[SHADOW_FIELDS.equal] ?? 0),
  difference: Number(hash[SHADOW_FIELDS.difference] ?? 0),
  timed: Number(hash[SHADOW_FIELDS.timed] ?? 0),
  logRatio: Number(hash[SHADOW_FIELDS.logRatio] ?? 0),
});

/** As administrators see it. */
export const presentShadow = (
  { shadow: share }: Pick<StoredRollout, 'shadow'>,
  side: SideOutcomes,
  { dropped, jobs, equal, difference, timed, logRatio }: ShadowCounts,
): RolloutShadow => ({
  share,
  ...presentSide(side),
  dropped: dropped + (side.ends.get('expired') ?? 0),
  compared: jobs,
  equal,
  difference: meanOf(difference, jobs),
  time_ratio: timed === 0 ? null : rounded(Math.exp(logRatio / timed)),
});

/** To three digits; null when there is nothing. */
export const meanOf = (sum: number, count: number): number | null =>
  count === 0 ? null : rounded(sum / count);

const rounded = (value: number): number => Math.round(value * 1000) / 1000;
