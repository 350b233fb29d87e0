/** Which version of a model a job gets that names none. Pure. */
import { createHash } from 'node:crypto';
import type { ModelEntry } from '@lehr/shared';
import { type StoredRollout, servingVersion } from './rollout.ts';

/** Whose job it is. */
export interface AssignedTo {
  readonly keyId: string;
  readonly tenant: string;
  readonly job: string;
}

export interface Assigned {
  readonly version: string;
  /** The part of the rollout that its end is counted for; undefined when the rollout is over. */
  readonly side: 'stable' | 'canary' | undefined;
}

/**
 * The canary for as many per cent of the callers as the weight says, always the same ones; a higher weight adds callers and takes none
 * away. The stable version for all others, and for all while no live worker serves the canary. Undefined when the rollout says
 * nothing of this job, because models.yaml has not got the version: then the weights in models.yaml decide.
 */
export function assignVersion(
  rollout: StoredRollout,
  versions: ModelEntry['versions'],
  to: AssignedTo,
  isServed: (version: string) => boolean,
): Assigned | undefined {
  const offers = (wanted: string): boolean => versions.some(({ version }) => version === wanted);
  const { id, state, stable, canary, weight, sticky_by: by } = rollout;
  const serving = servingVersion(rollout);
  if (!offers(serving)) return undefined;
  if (state === 'promoted' || state === 'rolled-back') return { version: serving, side: undefined };
  const caller = { key: to.keyId, tenant: to.tenant, job: to.job }[by];
  const isChosen = state === 'running' && percentOf(`${id}:${by}:${caller}`) < weight;
  return isChosen && offers(canary) && isServed(canary)
    ? { version: canary, side: 'canary' }
    : { version: stable, side: 'stable' };
}

/** From 0 up to 100, spread evenly over texts. */
const percentOf = (text: string): number =>
  (createHash('sha256').update(text).digest().readUInt32BE(0) / 2 ** 32) * 100;
