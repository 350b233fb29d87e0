/** A rollout as administrators see it. */
import { formatModelRef, type Rollout, type WorkerStatus } from '@lehr/shared';
import { serving } from '../fleet/fleet-view.ts';
import { presentSide } from './outcomes.ts';
import type { StoredRollout } from './rollout.ts';
import type { RolloutStore } from './rollout-store.ts';

const iso = (ms: number): string => new Date(ms).toISOString();

export async function presentRollout(
  store: RolloutStore,
  fleet: readonly WorkerStatus[],
  rollout: StoredRollout,
): Promise<Rollout> {
  const { id, model, state, stable, canary, weight, sticky_by } = rollout;
  const [outcomes, history] = await Promise.all([store.outcomes(id), store.history(model)]);
  const workersOf = (version: string): number =>
    serving(fleet, formatModelRef({ name: model, version })).length;
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
    history,
  };
}
