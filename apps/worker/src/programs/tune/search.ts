/**
 * Decides what a search measures next, and measures it. The decisions are pure: they follow from what is known, so a search that was
 * interrupted continues from its journal.
 *
 * First all sessions are measured with few rows, and go on to more rows as long as that may help them. Then the best candidates are
 * compared in rounds, and the better part of these in more rounds.
 */
import { type Candidate, type Session, sessionKey } from './candidate.ts';
import type { MeasuredRound, Measurements, Phase, Scope } from './measurements.ts';
import type { Trials } from './trial-pool.ts';

interface Rung {
  /** Rounds of each candidate. */
  readonly rounds: number;
  /** The share of all candidates that comes to this rung. */
  readonly keep: number;
}

export interface Plan {
  readonly screenRounds: number;
  readonly rungs: readonly Rung[];
  /** Timed steps of a round; undefined for as many as compute equally many rows for each candidate. */
  readonly calls?: number;
}

export const SEARCH: Plan = {
  screenRounds: 3,
  rungs: [
    { rounds: 4, keep: 1 / 5 },
    { rounds: 12, keep: 1 / 10 },
    { rounds: 24, keep: 1 / 20 },
  ],
};
/** 60 steps of every candidate. */
export const WHOLE_GRID: Plan = { screenRounds: 0, rungs: [{ rounds: 15, keep: 1 }], calls: 4 };

/** Fewer would be decided by the noise of few rounds. */
const KEEP_AT_LEAST = 3;
/** A round with fewer rows is too short to be timed well, and has too few steps for a 95th percentile. */
const LEAST_ROWS = 8;
/** A candidate is given up when another one with as many rows takes less than this share of its time for a job in each round. */
const CLEARLY_LESS = 0.9;

export const mostRounds = ({ screenRounds, rungs }: Plan): Record<Phase, number> => ({
  screen: screenRounds,
  final: Math.max(...rungs.map(({ rounds }) => rounds)),
});

/** The rows of all timed steps, when every candidate goes on to all of its rounds. */
export function rowsIn(
  candidates: readonly Candidate[],
  { screenRounds, rungs, calls }: Plan,
): Record<Phase, number> {
  const rowCaps = candidates.map(({ rowCap }) => rowCap);
  const widest = Math.max(...rowCaps);
  let final = 0;
  let before = 0;
  for (const { rounds, keep } of rungs) {
    const rows = rowCaps.reduce((sum, rowCap) => sum + rowCap * (calls ?? callsOf(rowCap, widest)), 0);
    // About: it depends on which of them come to this rung.
    final += ((rounds - before) * rows * leftOf(rowCaps.length, keep)) / rowCaps.length;
    before = rounds;
  }
  const screen = rowCaps.reduce((sum, rowCap) => sum + screenRounds * rowCap * callsOf(rowCap, rowCap), 0);
  return { screen, final };
}

const leftOf = (count: number, keep: number): number =>
  Math.min(count, Math.max(KEEP_AT_LEAST, Math.ceil(count * keep)));

/** The next row count of the first group that does not have its rounds; undefined when the screening is over. */
export function nextToScreen(
  groups: readonly (readonly Session[])[],
  rowCaps: readonly number[],
  { screenRounds }: Plan,
  known: Measurements,
): Task | undefined {
  const everyone = groups.flat();
  for (const group of groups) {
    let climbing = group;
    for (const rowCap of screenRounds > 0 ? rowCaps : []) {
      const candidates = climbing.map((session) => ({ session, rowCap }));
      if (candidates.some((each) => !isSettled(each, 'screen', screenRounds, known))) {
        return { phase: 'screen', candidates, rounds: screenRounds, calls: () => callsOf(rowCap, rowCap) };
      }
      climbing = climbing.filter((session) => isWorthMoreRows(session, rowCap, rowCaps, everyone, known));
    }
  }
  return undefined;
}

/** What to compare next of those that run. When all is measured: the candidates of the last rung, best first. */
export function nextToCompare(
  all: readonly Candidate[],
  { rungs, screenRounds, calls }: Plan,
  known: Measurements,
): Task | { readonly ranked: readonly Candidate[] } {
  let left = screenRounds > 0 ? bestScreened(all, screenRounds, known) : all;
  for (const { rounds, keep } of rungs) {
    // What ran in the screening can still fail: the next best one then takes its place.
    left = left.filter((each) => !known.failure(each)).slice(0, leftOf(all.length, keep));
    const widest = Math.max(...left.map(({ rowCap }) => rowCap));
    if (left.some((each) => !isSettled(each, 'final', rounds, known))) {
      const wanted = ({ rowCap }: Candidate): number => calls ?? callsOf(rowCap, widest);
      return { phase: 'final', candidates: left, rounds, calls: wanted };
    }
    left = ranked(left, known, { phase: 'final', rounds });
  }
  return { ranked: left };
}

/** Those that are not outdone, best first. */
function bestScreened(all: readonly Candidate[], rounds: number, known: Measurements): Candidate[] {
  const measured = all.filter((each) => known.isMeasured(each, 'screen', rounds));
  const sessions = measured.map(({ session }) => session);
  const good = measured.filter((each) => !isOutdone(each, sessions, known));
  return ranked(good, known, SCREENED);
}

const isSettled = (candidate: Candidate, phase: Phase, rounds: number, known: Measurements): boolean =>
  known.failure(candidate) !== undefined || known.isMeasured(candidate, phase, rounds);

/** Without what comes later, so that the screening is decided only once. */
const SCREENED: Scope = { phase: 'screen', rounds: Number.POSITIVE_INFINITY };

/** In a round all candidates compute equally many rows, so that they take about equally long. */
const callsOf = (rowCap: number, widest: number): number => Math.ceil(Math.max(LEAST_ROWS, widest) / rowCap);

/** Best first, each compared with the one that has the best score. */
function ranked(candidates: readonly Candidate[], known: Measurements, scope: Scope): Candidate[] {
  const [reference] = [...candidates].sort((a, b) => known.score(a, scope) - known.score(b, scope));
  return candidates
    .map((candidate) => ({ candidate, ratio: known.relative(candidate, reference, scope) }))
    .sort((a, b) => a.ratio - b.ratio)
    .map(({ candidate }) => candidate);
}

function isWorthMoreRows(
  session: Session,
  rowCap: number,
  rowCaps: readonly number[],
  everyone: readonly Session[],
  known: Measurements,
): boolean {
  const candidate = { session, rowCap };
  const failure = known.failure(candidate);
  // More rows do not fit either.
  if (failure) return failure.otherBatch === true;
  // More rows gain less with fewer threads, so a session that is outdone by one of its device with as many or more threads stays so.
  const rivals = everyone.filter(
    ({ device, threads }) => device === session.device && (threads ?? Infinity) >= (session.threads ?? 0),
  );
  return (
    !isOutdone(candidate, rivals, known) &&
    stillGains(
      session,
      rowCaps.filter((rows) => rows <= rowCap),
      known,
    )
  );
}

/** By sessions with as many workers: steps of more workers are longer, which says nothing of what they do together. */
function isOutdone(candidate: Candidate, rivals: readonly Session[], known: Measurements): boolean {
  const { workers } = candidate.session;
  return rivals.some((session) => {
    if (session.workers !== workers) return false;
    const rival = { session, rowCap: candidate.rowCap };
    const ratios = known.failure(rival) ? [] : known.ratios(rival, candidate, SCREENED);
    return ratios.length > 0 && ratios.every((ratio) => ratio < CLEARLY_LESS);
  });
}

/** Two doublings in a row that clearly lower the throughput end the ladder; one may be a disturbed measurement. */
const PATIENCE = 2;

function stillGains(session: Session, rowCaps: readonly number[], known: Measurements): boolean {
  const run = rowCaps.map((rowCap) => ({ session, rowCap })).filter((each) => known.steps(each) > 0);
  if (run.length <= PATIENCE) return true;
  const scores = run.map((each) => known.score(each, SCREENED));
  return CLEARLY_LESS * Math.min(...scores.slice(-PATIENCE)) < Math.min(...scores.slice(0, -PATIENCE));
}

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

/**
 * Measures candidates in rounds: each of them once in every round, so that whatever slows the machine for a while slows all of them.
 *
 * Every candidate has its rounds or a failure afterwards.
 */
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
