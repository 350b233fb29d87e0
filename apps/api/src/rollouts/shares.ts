/** The share of the callers that each version of a model gets, from 0 to 1. Pure. */
import type { ModelEntry } from '@lehr/shared';
import type { RolloutSide } from '@lehr/shared/records';
import { type StoredRollout, servingVersion } from './rollout.ts';

/** As the rollout says, also while no live worker serves the canary and all callers get the stable version. */
export function rolloutShares(rollout: Pick<StoredRollout, 'state' | 'weight'>): Record<RolloutSide, number> {
  const canary = { running: rollout.weight / 100, paused: 0, promoted: 1, 'rolled-back': 0 }[rollout.state];
  return { stable: 1 - canary, canary };
}

/** Of every version of the model: by its rollout, or without one by the weights in models.yaml. */
export function versionShares(
  { versions }: Pick<ModelEntry, 'versions'>,
  rollout: StoredRollout | undefined,
): ReadonlyMap<string, number> {
  const offers = (wanted: string): boolean => versions.some(({ version }) => version === wanted);
  if (rollout && offers(servingVersion(rollout))) {
    const { stable, canary } = rolloutShares(rollout);
    const canaryShare = offers(rollout.canary) ? canary : 0;
    const shares = new Map([
      [rollout.canary, canaryShare],
      [rollout.stable, canaryShare === canary ? stable : 1],
    ]);
    return new Map(versions.map(({ version }) => [version, shares.get(version) ?? 0]));
  }
  const sum = versions.reduce((total, { weight }) => total + weight, 0);
  return new Map(versions.map(({ version, weight }) => [version, sum === 0 ? 0 : weight / sum]));
}
