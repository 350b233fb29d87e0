/** What a search knows: the rounds of each candidate, and how two candidates compare. */
import {
  type Candidate,
  candidateKey,
  candidatesOf,
  type Session,
  type Space,
  sessionKey,
} from './candidate.ts';
import { durationsOf, figuresOf, type Goal, type JobFigures, scoreOf, type UsualJob } from './goal.ts';
import type { Journal, JournalEntry } from './journal.ts';
import type { StepsTaken, TrialAnswer, TrialFailure } from './trial.ts';

/** Few steps of all candidates, one row count after the other; then many of the best, in turns. */
export type Phase = 'screen' | 'final';

export type RoundJournal = Pick<Journal<TrialAnswer>, 'get' | 'add'>;

export interface MeasuredRound {
  readonly candidate: Candidate;
  readonly phase: Phase;
  readonly round: number;
  readonly answer: TrialAnswer;
}

/**
 * What a comparison may use: the screening, or also so many rounds of the final phase. A rung is decided by the rounds that there were
 * then, so that it is decided in the same way when the search looks at it again.
 */
export interface Scope {
  readonly phase: Phase;
  readonly rounds: number;
}
const ALL: Scope = { phase: 'final', rounds: Number.POSITIVE_INFINITY };

const limitOf = (phase: Phase, scope: Scope): number => {
  if (phase === scope.phase) return scope.rounds;
  return phase === 'screen' ? Number.POSITIVE_INFINITY : 0;
};

type Rounds = Record<Phase, (StepsTaken | undefined)[]>;

const roundKey = (candidate: Candidate, phase: Phase, round: number): string =>
  `${candidateKey(candidate)} ${phase} ${round}`;

export class Measurements {
  readonly #goal: Goal;
  readonly #job: UsualJob;
  /** Without its arrivals. */
  readonly #oneJob: UsualJob;
  readonly #journal: RoundJournal;
  /** Increasing. */
  readonly #rowCaps: readonly number[];
  readonly #rounds = new Map<string, Rounds>();
  readonly #failures = new Map<string, TrialFailure>();
  /** By session. */
  readonly #jobMs = new Map<string, { phase: Phase; round: number; ms: number }[]>();
  readonly #rows = { screen: 0, final: 0 };

  constructor(
    goal: Goal,
    job: UsualJob,
    journal: RoundJournal,
    space: Space,
    rounds: Readonly<Record<Phase, number>>,
  ) {
    this.#goal = goal;
    this.#job = job;
    this.#oneJob = { rows: job.rows, steps: job.steps };
    this.#journal = journal;
    this.#rowCaps = space.rowCaps;
    for (const candidate of candidatesOf(space)) {
      for (const phase of ['screen', 'final'] as const) {
        for (let round = 0; round < rounds[phase]; round += 1) {
          const answer = journal.get(roundKey(candidate, phase, round));
          if (answer) this.#note({ candidate, phase, round, answer });
        }
      }
    }
  }

  /** A round of several candidates is kept as a whole or not at all, so that its candidates were measured beside each other. */
  async add(measured: readonly MeasuredRound[]): Promise<void> {
    for (const each of measured) this.#note(each);
    await this.#journal.add(
      measured.map(
        ({ candidate, phase, round, answer }): JournalEntry<TrialAnswer> => ({
          key: roundKey(candidate, phase, round),
          value: answer,
        }),
      ),
    );
  }

  failure(candidate: Candidate): TrialFailure | undefined {
    return this.#failures.get(candidateKey(candidate));
  }

  has(candidate: Candidate, phase: Phase, round: number): boolean {
    return this.#rounds.get(candidateKey(candidate))?.[phase][round] !== undefined;
  }

  /** Whether it runs and has so many rounds. */
  isMeasured(candidate: Candidate, phase: Phase, rounds: number): boolean {
    return Array.from({ length: rounds }).every((_, round) => this.has(candidate, phase, round));
  }

  /** Of all timed steps of a phase. */
  rows(phase: Phase): number {
    return this.#rows[phase];
  }

  /** How often the parts of a job beside its steps were timed. */
  jobsOf({ session }: Candidate): number {
    return this.#jobMs.get(sessionKey(session))?.length ?? 0;
  }

  /** Timed steps of the figures; none when it was not measured. */
  steps(candidate: Candidate): number {
    return stepsOf(this.#roundsIn(candidate, ALL)).length;
  }

  figures(candidate: Candidate, scope = ALL): JobFigures {
    return this.#figuresOf(candidate, this.#roundsIn(candidate, scope), scope);
  }

  /** Lower is better. Compare with it only what was measured in the same minutes; `relative` compares any two. */
  score(candidate: Candidate, scope = ALL): number {
    return scoreOf(this.#goal, this.figures(candidate, scope));
  }

  /**
   * The score of a candidate over that of another one, in rounds that both have; below one where the candidate is better. Throughput is the
   * median of the ratios of the rounds: what slows the machine for some rounds slows both.
   */
  relative(candidate: Candidate, reference: Candidate, scope = ALL): number {
    const ratios = this.ratios(candidate, reference, scope);
    if (this.#goal === 'throughput' && ratios.length > 0) return medianOf(ratios);
    return this.score(candidate, scope) / this.score(reference, scope);
  }

  /** The ratio of each round that both have, of the final phase when both came to it. Without arrivals: near its limit, a load makes much of a little. */
  ratios(candidate: Candidate, reference: Candidate, scope = ALL): number[] {
    const both = [candidate, reference].every((each) => this.#isIn(each, 'final'));
    const phase = both && scope.phase === 'final' ? 'final' : 'screen';
    const score = (each: Candidate, round: number): number | undefined => {
      const taken = this.#rounds.get(candidateKey(each))?.[phase][round];
      return taken && scoreOf(this.#goal, this.#figuresOf(each, [taken], scope, this.#oneJob));
    };
    const rounds = this.#rounds.get(candidateKey(candidate))?.[phase].slice(0, limitOf(phase, scope)) ?? [];
    return [...rounds.keys()].flatMap((round) => {
      const [ours, theirs] = [score(candidate, round), score(reference, round)];
      return ours === undefined || theirs === undefined ? [] : [ours / theirs];
    });
  }

  #isIn(candidate: Candidate, phase: Phase): boolean {
    return (this.#rounds.get(candidateKey(candidate))?.[phase].length ?? 0) > 0;
  }

  #figuresOf(
    { session, rowCap }: Candidate,
    rounds: readonly StepsTaken[],
    scope: Scope,
    job = this.#job,
  ): JobFigures {
    const jobMs = (this.#jobMs.get(sessionKey(session)) ?? [])
      .filter(({ phase, round }) => round < limitOf(phase, scope))
      .map(({ ms }) => ms);
    const residentBytes = Math.max(...rounds.map((round) => round.residentBytes));
    const perJobMs = medianOf(jobMs.length > 0 ? jobMs : [0]);
    const fewer = job.arrivals ? this.#fewerRows(session, rowCap, scope) : [];
    const measured = { step: durationsOf(stepsOf(rounds)), fewer, perJobMs, residentBytes };
    return figuresOf(rowCap, session.workers ?? 1, measured, job);
  }

  #fewerRows(session: Session, rowCap: number, scope: Scope): [rows: number, ms: number][] {
    return this.#rowCaps
      .filter((rows) => rows < rowCap)
      .flatMap((rows) => {
        const steps = stepsOf(this.#roundsIn({ session, rowCap: rows }, scope));
        return steps.length > 0 ? [[rows, medianOf(steps)] as [number, number]] : [];
      });
  }

  /** Those of the final phase when it came to it. */
  #roundsIn(candidate: Candidate, scope: Scope): StepsTaken[] {
    const phase = scope.phase === 'final' && this.#isIn(candidate, 'final') ? 'final' : 'screen';
    const rounds = this.#rounds.get(candidateKey(candidate))?.[phase] ?? [];
    return rounds.slice(0, limitOf(phase, scope)).flatMap((round) => round ?? []);
  }

  #note({ candidate, phase, round, answer }: MeasuredRound): void {
    const key = candidateKey(candidate);
    if ('failure' in answer) {
      this.#failures.set(key, answer);
      return;
    }
    const rounds: Rounds = this.#rounds.get(key) ?? { screen: [], final: [] };
    rounds[phase][round] = answer;
    this.#rows[phase] += answer.stepMs.length * candidate.rowCap;
    this.#rounds.set(key, rounds);
    if (answer.jobMs === undefined) return;
    const session = sessionKey(candidate.session);
    this.#jobMs.set(session, [...(this.#jobMs.get(session) ?? []), { phase, round, ms: answer.jobMs }]);
  }
}

const stepsOf = (rounds: readonly StepsTaken[]): number[] => rounds.flatMap(({ stepMs }) => stepMs);
const medianOf = (values: readonly number[]): number => durationsOf(values).medianMs;
