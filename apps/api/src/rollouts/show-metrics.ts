/** The gauges of the rollouts. They come from Redis, so each API process shows the same: they are not added up. */
import { ERROR_CODES, EVIDENCE_KINDS, type LogEvidence, type Metrics } from '@lehr/shared';
import type { Outcomes, RolloutSide } from '@lehr/shared/records';
import { shownEvidence } from './judge.ts';
import { type Ends, failuresOf, isServersFault } from './outcomes.ts';
import { rolloutShares, type StoredRollout } from './rollout.ts';
import type { RolloutStore } from './rollout-store.ts';

/** A rollout with how its jobs ended until now. */
export interface RolloutReading {
  readonly rollout: StoredRollout;
  readonly outcomes: Outcomes;
  /** Of a rollout that is running. */
  readonly evidence?: LogEvidence | undefined;
}

type Gauges = Pick<Metrics<'api'>, 'rolloutWeight' | 'rolloutJobs' | 'rolloutFailures' | 'rolloutEvidence'>;

const SIDES = ['stable', 'canary'] as const satisfies readonly RolloutSide[];
/** Always shown, so that a rate has a first value. */
const OUTCOMES = ['succeeded', 'failed', 'canceled', 'expired'] as const;

export async function readRollouts(
  store: Pick<RolloutStore, 'list' | 'outcomes' | 'analysis'>,
): Promise<readonly RolloutReading[]> {
  const rollouts = [...(await store.list()).values()];
  return Promise.all(
    rollouts.map(async (rollout) => {
      const [outcomes, analysis] = await Promise.all([
        store.outcomes(rollout.id),
        rollout.state === 'running' ? store.analysis(rollout) : undefined,
      ]);
      return { rollout, outcomes, evidence: analysis?.evidence };
    }),
  );
}

/** Sets the gauges anew: a rollout that was removed is no longer shown. */
export function showRollouts(gauges: Gauges, readings: readonly RolloutReading[]): void {
  const { rolloutWeight, rolloutJobs, rolloutFailures, rolloutEvidence } = gauges;
  for (const gauge of [rolloutWeight, rolloutJobs, rolloutFailures, rolloutEvidence]) gauge.reset();
  for (const { rollout, outcomes, evidence } of readings) {
    const shares = rolloutShares(rollout);
    for (const side of SIDES) {
      const labels = { model: rollout.model, version: rollout[side], role: side };
      gauges.rolloutWeight.set(labels, shares[side]);
      showEnds(gauges, labels, outcomes[side].ends);
    }
    if (!evidence) continue;
    for (const kind of EVIDENCE_KINDS) {
      const labels = { model: rollout.model, version: rollout.canary, kind };
      rolloutEvidence.set(labels, shownEvidence(evidence[kind]));
    }
  }
}

function showEnds(
  { rolloutJobs, rolloutFailures }: Gauges,
  labels: { readonly model: string; readonly version: string; readonly role: RolloutSide },
  ends: Ends,
): void {
  for (const [outcome, jobs] of byOutcome(ends)) rolloutJobs.set({ ...labels, outcome }, jobs);
  for (const [code, jobs] of failuresOf(ends)) {
    // A code of a newer version of Lehr is named `other`: labels come from a closed list.
    const name = Object.hasOwn(ERROR_CODES, code) ? code : 'other';
    const fault = isServersFault(code) ? 'service' : 'caller';
    rolloutFailures.inc({ ...labels, code: name, fault }, jobs);
  }
}

/** Jobs by outcome: the failed ones of all codes are one. */
function byOutcome(ends: Ends): readonly (readonly [outcome: string, jobs: number])[] {
  const failed = failuresOf(ends).reduce((sum, [, jobs]) => sum + jobs, 0);
  return OUTCOMES.map((outcome) => [outcome, outcome === 'failed' ? failed : (ends.get(outcome) ?? 0)]);
}
