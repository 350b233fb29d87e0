/** The rollout of a model as Redis keeps it: one JSON text per model. */
import { type LogEvidence, NO_EVIDENCE, ROLLOUT_STATES, STICKY_BY } from '@lehr/shared';
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
  /** Logarithms of the evidence of the stages before (shared/rollouts/verdict.ts). */
  carried: z.object({ failures: z.number(), slowness: z.number() }).default(NO_EVIDENCE),
});
export type StoredRollout = z.output<typeof StoredRolloutSchema>;

/** A rollout before it is stored. */
export type RolloutDraft = Omit<StoredRollout, 'v' | 'rev'>;

export const formatRollout = (draft: RolloutDraft, rev: number): string =>
  JSON.stringify({ v: STORED_VERSION, ...draft, rev });

/** Undefined for what this version of Lehr cannot read. */
export function parseRollout(text: string): StoredRollout | undefined {
  try {
    return StoredRolloutSchema.safeParse(JSON.parse(text)).data;
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
