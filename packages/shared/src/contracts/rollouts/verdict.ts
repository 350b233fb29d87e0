/**
 * What follows from the evidence: roll back, go on to the next step, or wait. Pure.
 *
 * A change of the share and a pause begin a new stage with counts from zero, so that jobs of a quiet hour at 10 % are not
 * compared with those of a busy hour at 50 %. A stage stakes half of the evidence that the stages before it left: what is carried over
 * is halved at worst, and a product of e-processes, each begun after the one before it, is one again.
 */
import { type LogEvidence, logMean, NO_EVIDENCE, type Samples, weighJobs } from './evidence.ts';

/** Of both tests together: the highest probability that a canary which is not worse is ever rolled back. */
export const FALSE_ALARM_RATE = 0.005;
/** Each test gets half of it. */
export const EVIDENCE_LIMIT = 2 / FALSE_ALARM_RATE;
/** From this evidence on, a canary is not promoted: more jobs decide. */
export const DOUBT_LIMIT = 10;
/** Least jobs of each version in a stage, and least pairs to promote, before anything is decided. */
export const LEAST_SAMPLES = 10;

export const EVIDENCE_KINDS = ['failures', 'slowness'] as const;
export type EvidenceKind = (typeof EVIDENCE_KINDS)[number];

/** The evidence with that of the stages before. */
export function totalEvidence(samples: Samples, carried: LogEvidence = NO_EVIDENCE): LogEvidence {
  const stage = weighJobs(samples);
  const total = (kind: EvidenceKind): number => carried[kind] + logMean(stage[kind], 0);
  return { failures: total('failures'), slowness: total('slowness') };
}

export interface JudgedBy {
  readonly carried: LogEvidence;
  readonly autoRollback: boolean;
  /** Jobs of the canary in each step; null: it is never promoted by itself. */
  readonly promoteAfter: number | null;
}

export type Verdict =
  | { readonly action: 'roll-back'; readonly kind: EvidenceKind; readonly evidence: LogEvidence }
  | { readonly action: 'advance' | 'wait'; readonly evidence: LogEvidence };

export function verdictOf(samples: Samples, { carried, autoRollback, promoteAfter }: JudgedBy): Verdict {
  const evidence = totalEvidence(samples, carried);
  const { stable, canary, pairs } = samples;
  if (Math.min(stable.jobs, canary.jobs) < LEAST_SAMPLES) return { action: 'wait', evidence };
  const against = EVIDENCE_KINDS.find((kind) => evidence[kind] >= Math.log(EVIDENCE_LIMIT));
  if (against)
    return autoRollback ? { action: 'roll-back', kind: against, evidence } : { action: 'wait', evidence };
  const isDoubtful = EVIDENCE_KINDS.some((kind) => evidence[kind] >= Math.log(DOUBT_LIMIT));
  const isDone = promoteAfter !== null && canary.jobs >= promoteAfter;
  const isCompared = pairs.slower + pairs.faster >= LEAST_SAMPLES;
  return { action: isDone && isCompared && !isDoubtful ? 'advance' : 'wait', evidence };
}
