/** A rollout as administrators see it. */
import {
  EVIDENCE_LIMIT,
  formatModelRef,
  type Rollout,
  type RolloutAnalysis,
  type WorkerStatus,
} from '@lehr/shared';
import { fleetIndex } from '../fleet/fleet-index.ts';
import { shownEvidence } from './judge.ts';
import { presentSide } from './outcomes.ts';
import type { StoredRollout } from './rollout.ts';
import type { Analysis, RolloutStore } from './rollout-store.ts';

const iso = (ms: number): string => new Date(ms).toISOString();

export async function presentRollout(
  store: RolloutStore,
  fleet: readonly WorkerStatus[],
  rollout: StoredRollout,
): Promise<Rollout> {
  const { id, model, state, stable, canary, weight, sticky_by } = rollout;
  const [outcomes, history, analysis] = await Promise.all([
    store.outcomes(id),
    store.history(model),
    store.analysis(rollout),
  ]);
  const workersOf = (version: string): number =>
    fleetIndex(fleet).available(formatModelRef({ name: model, version }));
  return {
    object: 'rollout',
    id,
    model,
    state,
    stable,
    canary,
    weight,
    sticky_by,
    created_at: iso(rollout.created_at),
    changed_at: iso(rollout.changed_at),
    changed_by: rollout.changed_by,
    reason: rollout.reason,
    workers: { stable: workersOf(stable), canary: workersOf(canary) },
    outcomes: { stable: presentSide(outcomes.stable), canary: presentSide(outcomes.canary) },
    analysis: presentAnalysis(rollout, analysis),
    history,
  };
}

function presentAnalysis(rollout: StoredRollout, { samples, evidence }: Analysis): RolloutAnalysis {
  const { auto_rollback, promote_after, steps } = rollout;
  return {
    auto_rollback,
    promote_after,
    steps,
    limit: EVIDENCE_LIMIT,
    evidence: { failures: shownEvidence(evidence.failures), slowness: shownEvidence(evidence.slowness) },
    stable: samples.stable,
    canary: samples.canary,
    pairs: samples.pairs,
  };
}
