/** Measures candidates: all row caps of a session in one process. */
import { type Candidate, candidateKey, type Session, sessionKey } from './candidate.ts';
import type { Measured } from './goal.ts';
import type { Journal } from './journal.ts';
import type { TrialAnswer } from './run-trial.ts';
import type { TrialRequest, TunedModel } from './trial.ts';

export type Outcome = Measured | { readonly failure: string };

export const outcomeKey = (candidate: Candidate, calls: number): string =>
  `${candidateKey(candidate)} x${calls}`;

export interface Measuring {
  readonly model: TunedModel;
  readonly journal: Journal<Outcome>;
  readonly runTrial: (request: TrialRequest) => Promise<TrialAnswer>;
  /** So many candidates were measured with so many calls each. */
  readonly onMeasured: (candidates: number, calls: number) => void;
}

/** Every candidate has an outcome in the journal afterwards. */
export async function measureCandidates(
  candidates: readonly Candidate[],
  calls: number,
  { model, journal, runTrial, onMeasured }: Measuring,
): Promise<void> {
  for (const [session, group] of bySession(candidates)) {
    const rowCaps = group.map(({ rowCap }) => rowCap).sort((a, b) => a - b);
    const answer = await runTrial({ model, session, rowCaps, calls });
    await journal.add(
      group.map((candidate) => ({ key: outcomeKey(candidate, calls), value: outcomeOf(candidate, answer) })),
    );
    onMeasured(group.length, calls);
  }
}

function outcomeOf({ rowCap }: Candidate, answer: TrialAnswer): Outcome {
  if ('failure' in answer) return answer;
  const { points, openMs, perJobMs } = answer.result;
  const point = points.find((each) => each.rowCap === rowCap);
  if (!point) return { failure: 'so many rows do not fit, or the graph has another fixed batch size' };
  return { step: point.step, residentBytes: point.residentBytes, openMs, perJobMs };
}

function bySession(candidates: readonly Candidate[]): Map<Session, Candidate[]> {
  const sessions = new Map<string, Session>();
  const groups = new Map<Session, Candidate[]>();
  for (const candidate of candidates) {
    const key = sessionKey(candidate.session);
    const session = sessions.get(key) ?? candidate.session;
    sessions.set(key, session);
    groups.set(session, [...(groups.get(session) ?? []), candidate]);
  }
  return groups;
}
