/**
 * The rollout of a model as Redis keeps it: one JSON text per model, and beside it a copy of the fields that were added later. An API
 * process of an older version that changes the rollout drops the fields that it does not know; they are then read from the copy.
 */
import { createHash } from 'node:crypto';
import { type LogEvidence, type ModelEntry, NO_EVIDENCE, ROLLOUT_STATES, STICKY_BY } from '@lehr/shared';
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
  /** Absent in rollouts of older versions, which only administrators decided. */
  auto_rollback: z.boolean().default(false),
  promote_after: z.number().nullable().default(null),
  steps: z.array(z.number()).default([]),
  /** Rises when the share changes or the rollout is paused: from then on its jobs are counted from zero. */
  stage: z.int().default(1),
  /** Logarithms of the evidence of the stages before (contracts/rollouts/evidence.ts). */
  carried: z.object({ failures: z.number(), slowness: z.number() }).default(NO_EVIDENCE),
});
export type StoredRollout = z.output<typeof StoredRolloutSchema>;

/** A rollout before it is stored. */
export type RolloutDraft = Omit<StoredRollout, 'v' | 'rev'>;

/** `unknown` as `unknownFields` returned it. */
export const formatRollout = (draft: RolloutDraft, rev: number, unknown: object = {}): string =>
  JSON.stringify({ ...unknown, v: STORED_VERSION, ...draft, rev });

/** Undefined for what this version of Lehr cannot read. `copy` is what `formatCopy` made. */
export function parseRollout(text: string, copy?: string): StoredRollout | undefined {
  const fields = fieldsOf(text);
  return fields && StoredRolloutSchema.safeParse(withCopy(fields, fieldsOf(copy ?? ''))).data;
}

/** What follows the name of the model in the field of the copy; no name of a model has this character. */
const COPY_SUFFIX = '~added';

export const copyField = (model: string): string => `${model}${COPY_SUFFIX}`;

export const isCopyField = (field: string): boolean => field.endsWith(COPY_SUFFIX);

/** The fields that every version knows. */
const FIRST_FIELDS: readonly string[] = [
  ...['v', 'id', 'model', 'rev', 'stable', 'canary', 'weight', 'sticky_by', 'state'],
  ...['created_at', 'changed_at', 'changed_by', 'reason'],
];

/** The added fields of a stored text, and those by which a later change by an older version is recognised. */
export function formatCopy(text: string): string {
  const fields = fieldsOf(text) ?? {};
  const { id, weight, sticky_by, state } = fields;
  const added = Object.entries(fields).filter(([name]) => !FIRST_FIELDS.includes(name));
  return JSON.stringify({ of: { id, weight, sticky_by, state }, added: Object.fromEntries(added) });
}

/** What a newer version added and this one does not know: kept in the text of the next change of the same rollout. */
export function unknownFields(text: string, copy: string | undefined): Readonly<Record<string, unknown>> {
  const fields = fieldsOf(text);
  if (!fields) return {};
  const all = withCopy(fields, fieldsOf(copy ?? ''));
  return Object.fromEntries(Object.entries(all).filter(([name]) => !(name in StoredRolloutSchema.shape)));
}

type Fields = Readonly<Record<string, unknown>>;

const CopySchema = z.object({
  of: z.object({ id: z.unknown(), weight: z.unknown(), sticky_by: z.unknown(), state: z.unknown() }),
  added: z.record(z.string(), z.unknown()),
});

function withCopy(fields: Fields, copy: Fields | undefined): Fields {
  const { data } = CopySchema.safeParse(copy);
  if (data?.of.id === undefined || data.of.id !== fields.id) return fields;
  const { of, added } = data;
  const merged = { ...added, ...fields };
  const isSame = (['weight', 'sticky_by', 'state'] as const).every((name) => of[name] === fields[name]);
  // An older version changed the share and knows no stages: its jobs must not be counted with those from before.
  if ('stage' in fields || typeof added.stage !== 'number' || isSame) return merged;
  return { ...merged, stage: added.stage + 1 };
}

function fieldsOf(text: string): Fields | undefined {
  try {
    return z.record(z.string(), z.unknown()).safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

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
