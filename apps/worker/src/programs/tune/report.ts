/** What each setting costs: for every value of a setting, the best candidate that has this value. */
import type { Candidate } from './candidate.ts';
import type { JobFigures } from './goal.ts';

export interface Scored {
  readonly candidate: Candidate;
  /** Timed steps of the figures. */
  readonly calls: number;
  readonly figures: JobFigures;
  /** Lower is better. It compares the candidates as they were beside the chosen one. */
  readonly score: number;
}

export interface SettingCost {
  readonly setting: string;
  readonly value: string;
  readonly calls: number;
  readonly figures: JobFigures;
  /** How many times worse than the chosen candidate for the goal; 1 for the chosen one. */
  readonly cost: number;
}

export function settingCosts(all: readonly Scored[], chosen: Scored): SettingCost[] {
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
  ['row cap', ({ rowCap }) => String(rowCap)],
];

/** The first of equals, which is also the first in the order of the candidates. */
const bestOf = (some: readonly Scored[]): Scored =>
  some.reduce((best, each) => (each.score < best.score ? each : best));
