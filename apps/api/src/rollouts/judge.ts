/** What Lehr does with a rollout by itself, and what it says of it. Pure. */
import {
  EVIDENCE_LIMIT,
  type EvidenceKind,
  type LogEvidence,
  type Samples,
  TOLERANCE,
  type Verdict,
  verdictOf,
} from '@lehr/shared';
import { OWN_ACTOR } from '../access/audit/audit-log.ts';
import { nextStage, type StoredRollout } from './rollout.ts';
import type { Analysis, RolloutStep } from './rollout-store.ts';

export interface JudgeContext {
  /** ms. */
  readonly now: number;
  /** Whether a live worker serves the canary: without one it is not promoted, and gets no more callers. */
  readonly isServed: boolean;
}

/** Undefined when there is nothing to do, or not yet. */
export function judgeRollout(
  rollout: StoredRollout,
  { samples, evidence }: Analysis,
  context: JudgeContext,
): RolloutStep | undefined {
  const { state, carried, auto_rollback: autoRollback, promote_after: promoteAfter } = rollout;
  if (state !== 'running') return undefined;
  const verdict: Verdict = verdictOf(samples, { carried, autoRollback, promoteAfter });
  const { rev: _, v: __, ...before } = rollout;
  const changed = { changed_at: context.now, changed_by: OWN_ACTOR.keyId };
  const draft = { ...before, ...changed, ...nextStage(rollout, evidence) };
  switch (verdict.action) {
    case 'roll-back': {
      const reason = whyRolledBack(verdict.kind, samples, evidence);
      return { action: 'rolled-back', reason, after: { ...draft, state: 'rolled-back', reason } };
    }
    case 'advance': {
      if (!context.isServed) return undefined;
      const reason = whyAdvanced(rollout, samples, evidence);
      const next = rollout.steps.find((step) => step > rollout.weight);
      if (next === undefined || next === 100) {
        return { action: 'promoted', reason, after: { ...draft, state: 'promoted', reason } };
      }
      return { action: 'changed', reason, after: { ...draft, weight: next, reason } };
    }
    case 'wait':
      return undefined;
  }
}

function whyRolledBack(kind: EvidenceKind, samples: Samples, evidence: LogEvidence): string {
  const { stable, canary, pairs } = samples;
  const what =
    kind === 'failures'
      ? `${canary.failed} of ${canary.jobs} canary jobs failed, ${stable.failed} of ${stable.jobs} stable ones`
      : `of ${pairs.slower + pairs.faster} canary jobs ${pairs.slower} took more than ${TOLERANCE} times as long as a comparable stable one`;
  return `${what}; evidence ${shownEvidence(evidence[kind])}, limit ${EVIDENCE_LIMIT}`;
}

function whyAdvanced({ weight }: StoredRollout, { canary }: Samples, evidence: LogEvidence): string {
  const { failures, slowness } = evidence;
  return (
    `${canary.jobs} canary jobs ended at ${weight} %, ${canary.failed} of them failed; evidence ` +
    `${shownEvidence(failures)} for failures and ${shownEvidence(slowness)} for slowness, limit ${EVIDENCE_LIMIT}`
  );
}

/** More says nothing more, and would not fit a number. */
const MOST_SHOWN = 1e9;

/** From its logarithm: whole from 10 on, else with two digits. */
export function shownEvidence(log: number): number {
  const evidence = Math.min(MOST_SHOWN, Math.exp(log));
  return evidence >= 10 ? Math.round(evidence) : Number(evidence.toPrecision(2));
}
