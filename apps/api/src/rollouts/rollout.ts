/** The rollout of a model as Redis keeps it, one JSON text per model, and which version it gives to a job. */
import { createHash } from 'node:crypto';
import { type LogEvidence, type ModelEntry, parsedStored, ROLLOUT_STATES, STICKY_BY } from '@lehr/shared';
import type { RolloutSide } from '@lehr/shared/records';
import { z } from 'zod';

/** Of the stored text; a process leaves rollouts of another version alone. */
const STORED_VERSION = 1;

const StoredRolloutSchema = z.object({
  v: z.literal(STORED_VERSION),
  id: z.string(),
  model: z.string(),
  /** Rises with every change. */
  rev: z.int(),
  stable: z.string(),
  canary: z.string(),
  weight: z.number(),
  sticky_by: z.enum(STICKY_BY),
  state: z.enum(ROLLOUT_STATES),
  /** ms; of the rollout, and of its last change. */
  created_at: z.number(),
  changed_at: z.number(),
  changed_by: z.string().nullable(),
  reason: z.string().nullable(),
  auto_rollback: z.boolean(),
  promote_after: z.number().nullable(),
  steps: z.array(z.number()),
  /** Rises when the share changes or the rollout is paused: from then on its jobs are counted from zero. */
  stage: z.int(),
  /** Logarithms of the evidence of the stages before (contracts/rollouts/evidence.ts). */
  carried: z.object({ failures: z.number(), slowness: z.number() }),
});
export type StoredRollout = z.output<typeof StoredRolloutSchema>;

/** A rollout before it is stored. */
export type RolloutDraft = Omit<StoredRollout, 'v' | 'rev'>;

export const formatRollout = (draft: RolloutDraft, rev: number): string =>
  JSON.stringify({ v: STORED_VERSION, ...draft, rev });

/** Undefined for what this version of Lehr cannot read. */
export const parseRollout = (text: string): StoredRollout | undefined =>
  parsedStored(StoredRolloutSchema, text);

/** The version that callers get who are not part of the trial. */
export const servingVersion = ({ state, stable, canary }: StoredRollout): string =>
  state === 'promoted' ? canary : stable;

/** The fields with which a new stage begins. */
export const nextStage = (
  { stage }: Pick<StoredRollout, 'stage'>,
  carried: LogEvidence,
): Pick<StoredRollout, 'stage' | 'carried'> => ({ stage: stage + 1, carried });

/** Under way: it may be changed, and new jobs may be part of it. */
export const isOpen = (rollout: StoredRollout | undefined): rollout is StoredRollout =>
  rollout?.state === 'running' || rollout?.state === 'paused';

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

/** Whose job it is. */
interface AssignedTo {
  readonly keyId: string;
  readonly tenant: string;
  readonly job: string;
}

interface Assigned {
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
