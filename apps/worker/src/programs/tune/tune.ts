/** `lehr tune`: searches the settings with which a model runs best on this machine. */
import { LehrError } from '@lehr/shared';
import { type Candidate, candidatesOf, type Space, sessionKey } from './candidate.ts';
import type { Goal, JobFigures, UsualJob } from './goal.ts';
import { Measurements, type RoundJournal } from './measurements.ts';
import {
  measureRounds,
  mostRounds,
  nextToCompare,
  nextToScreen,
  type Plan,
  rowsIn,
  type Task,
} from './search.ts';
import type { Trials } from './trial-pool.ts';

export interface TuneOptions {
  readonly job: UsualJob;
  readonly goal: Goal;
  readonly space: Space;
  readonly plan: Plan;
  readonly journal: RoundJournal;
  readonly trials: Trials;
  /** Rows computed in timed steps so far, and about how many there will be. */
  readonly onProgress: (done: number, total: number) => void;
}

export interface Tuning {
  readonly chosen: Scored;
  readonly costs: readonly SettingCost[];
  /** Every measured candidate, best first. */
  readonly all: readonly Scored[];
  readonly failed: readonly { readonly candidate: Candidate; readonly reason: string }[];
}

/**
 * Fewer rows are chosen when they give at least this share of the best throughput, because steps are then shorter. Less than the 3 % that a
 * choice may be below the best of the grid, because the measurements differ as well.
 */
const ENOUGH = 0.98;

/** Throws LehrError `model-unavailable` with a reason when no candidate runs. */
export async function tune(options: TuneOptions): Promise<Tuning> {
  const { goal, job, journal, plan, space, trials } = options;
  const known = new Measurements(goal, job, journal, space, mostRounds(plan));
  const candidates = candidatesOf(space);
  const sessions = [...new Map(candidates.map(({ session }) => [sessionKey(session), session])).values()];
  const total = rowsIn(candidates, plan);
  const measure = async (task: Task): Promise<void> => {
    // What the screening left out is done as well.
    const before = task.phase === 'screen' ? 0 : total.screen;
    const show = (): void => {
      const done = before + Math.min(total[task.phase], known.rows(task.phase));
      options.onProgress(done, total.screen + total.final);
    };
    show();
    await measureRounds(task, trials, known, show);
  };
  for (;;) {
    // Steps of more rows need more memory, and fewer processes then fit into it.
    const task = nextToScreen(trials.groupsOf(sessions), space.rowCaps, plan, known);
    if (!task) break;
    await measure(task);
  }
  for (;;) {
    const next = nextToCompare(candidates, plan, known);
    if ('ranked' in next) return resultOf(candidates, next.ranked, known, { goal, job });
    await measure(next);
  }
}

/** The candidates of the last rung come best first. */
function resultOf(
  candidates: readonly Candidate[],
  ranked: readonly Candidate[],
  known: Measurements,
  { goal, job }: Pick<TuneOptions, 'goal' | 'job'>,
): Tuning {
  const failed = candidates.flatMap((candidate) => {
    const reason = known.failure(candidate)?.failure;
    return reason === undefined ? [] : [{ candidate, reason }];
  });
  const winner = goal === 'throughput' || job.arrivals ? fewestRows(ranked, known) : ranked.at(0);
  if (!winner) {
    const reason = failed.at(0)?.reason ?? 'there is nothing to try';
    throw new LehrError('model-unavailable', `The model runs with none of the settings: ${reason}`);
  }
  const measured = candidates.filter((each) => known.steps(each) > 0 && !known.failure(each));
  const all = measured
    .map((candidate) => scoredOf(candidate, winner, known))
    .sort((a, b) => a.score - b.score);
  const chosen = scoredOf(winner, winner, known);
  return { chosen, costs: settingCosts(all, chosen), all, failed };
}

/** Of those that are about as good as the first, the first of those with the fewest workers, and of these with the fewest rows. */
function fewestRows(ranked: readonly Candidate[], known: Measurements): Candidate | undefined {
  const good = ranked.filter((each) => known.relative(ranked[0], each) >= ENOUGH);
  const workersOf = ({ session }: Candidate): number => session.workers ?? 1;
  const workers = Math.min(...good.map(workersOf));
  const enough = good.filter((each) => workersOf(each) === workers);
  const rows = Math.min(...enough.map(({ rowCap }) => rowCap));
  return enough.find(({ rowCap }) => rowCap === rows);
}

/** Its figures as measured; its score beside the winner, because other minutes may have been slower for both. */
function scoredOf(candidate: Candidate, winner: Candidate, known: Measurements): Scored {
  const score = known.score(winner) * known.relative(candidate, winner);
  return { candidate, calls: known.steps(candidate), figures: known.figures(candidate), score };
}

interface Scored {
  readonly candidate: Candidate;
  /** Timed steps of the figures. */
  readonly calls: number;
  readonly figures: JobFigures;
  /** Lower is better. It compares the candidates as they were beside the chosen one. */
  readonly score: number;
}

interface SettingCost {
  readonly setting: string;
  readonly value: string;
  readonly calls: number;
  readonly figures: JobFigures;
  /** How many times worse than the chosen candidate for the goal; 1 for the chosen one. */
  readonly cost: number;
}

/** What each setting costs: for every value of a setting, the best candidate that has this value. */
function settingCosts(all: readonly Scored[], chosen: Scored): SettingCost[] {
  return SETTINGS.flatMap(([setting, readValue]) => {
    const values = [...new Set(all.map(({ candidate }) => readValue(candidate)))];
    if (values.length < 2) return [];
    return values.map((value) => {
      const best = bestOf(all.filter(({ candidate }) => readValue(candidate) === value));
      const isChosen = readValue(chosen.candidate) === value;
      const { calls, figures, score } = isChosen ? chosen : best;
      return { setting, value, calls, figures, cost: score / chosen.score };
    });
  });
}

const SETTINGS: readonly (readonly [name: string, readValue: (candidate: Candidate) => string])[] = [
  ['device', ({ session }) => session.device],
  ['variant', ({ session }) => session.variant ?? ''],
  ['threads', ({ session }) => String(session.threads ?? '-')],
  ['optimization', ({ session }) => session.optimization],
  ['workers', ({ session }) => String(session.workers ?? 1)],
  ['row cap', ({ rowCap }) => String(rowCap)],
];

/** The first of equals, which is also the first in the order of the candidates. */
const bestOf = (some: readonly Scored[]): Scored =>
  some.reduce((best, each) => (each.score < best.score ? each : best));
