/** `lehr tune`: searches the settings with which a model runs best on this machine. */
import { LehrError } from '@lehr/shared';
import { type Candidate, candidatesOf, type Space } from './candidate.ts';
import { figuresOf, type Goal, type Measured, scoreOf, type UsualJob } from './goal.ts';
import type { Journal } from './journal.ts';
import { measureCandidates, type Outcome, outcomeKey } from './measure-candidates.ts';
import { type Scored, type SettingCost, settingCosts } from './report.ts';
import type { TrialAnswer } from './run-trial.ts';
import { callsOf, nextToMeasure, type Rung } from './search.ts';
import type { TrialRequest, TunedModel } from './trial.ts';

export interface TuneOptions {
  readonly model: TunedModel;
  readonly job: UsualJob;
  readonly goal: Goal;
  readonly space: Space;
  readonly rungs: readonly Rung[];
  readonly journal: Journal<Outcome>;
  readonly runTrial: (request: TrialRequest) => Promise<TrialAnswer>;
  /** Steps made so far, and about how many there will be. */
  readonly onProgress: (done: number, total: number) => void;
}

export interface Tuning {
  readonly chosen: Scored;
  readonly costs: readonly SettingCost[];
  /** Every candidate with its longest measurement, best first. */
  readonly all: readonly Scored[];
  readonly failed: readonly { readonly candidate: Candidate; readonly reason: string }[];
}

/** Throws LehrError `model-unavailable` with a reason when no candidate runs. */
export async function tune(options: TuneOptions): Promise<Tuning> {
  const { journal, rungs, onProgress } = options;
  const candidates = candidatesOf(options.space);
  const total = callsOf(candidates.length, rungs);
  let done = 0;
  const progress = (count: number, calls: number): void => {
    done = Math.min(total, done + count * calls);
    onProgress(done, total);
  };
  const score = (candidate: Candidate, calls: number): number | undefined => {
    const outcome = journal.get(outcomeKey(candidate, calls));
    if (!outcome) return undefined;
    return 'failure' in outcome
      ? Number.POSITIVE_INFINITY
      : scoredOf(candidate, calls, outcome, options).score;
  };
  for (const { calls } of rungs) {
    progress(candidates.filter((each) => score(each, calls) !== undefined).length, calls);
  }
  for (;;) {
    const next = nextToMeasure(candidates, rungs, score);
    if (next.outcome === 'measure') {
      await measureCandidates(next.candidates, next.calls, { ...options, onMeasured: progress });
      continue;
    }
    return resultOf(candidates, next.ranked, options);
  }
}

function resultOf(
  candidates: readonly Candidate[],
  ranked: readonly Candidate[],
  options: TuneOptions,
): Tuning {
  const known = candidates.map((candidate) => ({ candidate, ...longest(candidate, options) }));
  const failed = known.flatMap(({ candidate, outcome }) =>
    outcome && 'failure' in outcome ? [{ candidate, reason: outcome.failure }] : [],
  );
  const all = known
    .flatMap(({ candidate, calls, outcome }) =>
      outcome && !('failure' in outcome) ? [scoredOf(candidate, calls, outcome, options)] : [],
    )
    .sort((a, b) => a.score - b.score);
  const chosen = all.find(({ candidate }) => candidate === ranked.at(0));
  if (!chosen) {
    const reason = failed.at(0)?.reason ?? 'there is nothing to try';
    throw new LehrError('model-unavailable', `The model runs with none of the settings: ${reason}`);
  }
  return { chosen, costs: settingCosts(all, chosen), all, failed };
}

function longest(candidate: Candidate, { rungs, journal }: TuneOptions) {
  const measured = rungs.flatMap(({ calls }) => {
    const outcome = journal.get(outcomeKey(candidate, calls));
    return outcome ? [{ calls, outcome }] : [];
  });
  return measured.at(-1) ?? { calls: 0, outcome: undefined };
}

function scoredOf(
  candidate: Candidate,
  calls: number,
  measured: Measured,
  { goal, job }: TuneOptions,
): Scored {
  const figures = figuresOf(candidate.rowCap, measured, job);
  return { candidate, calls, figures, score: scoreOf(goal, figures) };
}
