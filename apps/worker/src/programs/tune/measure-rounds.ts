/** Measures candidates in rounds: each of them once in every round, so that whatever slows the machine for a while slows all of them. */
import { type Candidate, type Session, sessionKey } from './candidate.ts';
import type { MeasuredRound, Measurements, Phase } from './measurements.ts';
import type { Trials } from './trial-pool.ts';

export interface Task {
  readonly phase: Phase;
  readonly candidates: readonly Candidate[];
  /** Each candidate is to have so many. */
  readonly rounds: number;
  /** Timed steps of a round. */
  readonly calls: (candidate: Candidate) => number;
}

/** The parts of a job outside of its steps are timed so often: they are few. */
const JOB_CALLS: Readonly<Record<Phase, number>> = { screen: 3, final: 10 };

/** Every candidate has its rounds or a failure afterwards. */
export async function measureRounds(
  task: Task,
  trials: Trials,
  measurements: Measurements,
  onMeasured: () => void,
): Promise<void> {
  const { phase, candidates, rounds } = task;
  const sessions = [...new Map(candidates.map(({ session }) => [sessionKey(session), session])).values()];
  for (const group of trials.groupsOf(sessions)) {
    const own = candidates.filter(({ session }) => isIn(group, session));
    if (own.every((each) => measurements.failure(each) || measurements.isMeasured(each, phase, rounds)))
      continue;
    await trials.open(group);
    for (let round = 0; round < rounds; round += 1) {
      const missing = own.filter(
        (each) => !measurements.failure(each) && !measurements.has(each, phase, round),
      );
      if (missing.length === 0) continue;
      const measured = await oneRound(missing, round, task, trials, measurements);
      await measurements.add(measured);
      onMeasured();
    }
  }
}

async function oneRound(
  candidates: readonly Candidate[],
  round: number,
  { phase, calls }: Task,
  trials: Trials,
  measurements: Measurements,
): Promise<MeasuredRound[]> {
  const measured: MeasuredRound[] = [];
  const timedJobs = new Set<string>();
  // The other way round each time: none is always the one after a certain other one.
  for (const candidate of round % 2 === 0 ? candidates : candidates.toReversed()) {
    const { session, rowCap } = candidate;
    const job = measurements.jobsOf(candidate) < JOB_CALLS[phase] && !timedJobs.has(sessionKey(session));
    timedJobs.add(sessionKey(session));
    const answer = await trials.take(session, { rows: rowCap, calls: calls(candidate), job });
    measured.push({ candidate, phase, round, answer });
  }
  return measured;
}

const isIn = (group: readonly Session[], session: Session): boolean =>
  group.some((each) => sessionKey(each) === sessionKey(session));
