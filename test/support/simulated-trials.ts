/** Trials of `lehr tune` on a device that is a formula, and a journal in memory. */
import type { Candidate, Session } from '../../apps/worker/src/programs/tune/candidate.ts';
import { sessionKey } from '../../apps/worker/src/programs/tune/candidate.ts';
import type { RoundJournal } from '../../apps/worker/src/programs/tune/measurements.ts';
import type { StepsWanted, TrialAnswer } from '../../apps/worker/src/programs/tune/trial.ts';
import type { Trials } from '../../apps/worker/src/programs/tune/trial-pool.ts';

export interface SimulatedTrials extends Trials {
  /** What was measured, in order. */
  readonly taken: Candidate[];
  readonly rows: () => number;
  /** How often a session was opened. */
  readonly opened: () => number;
}

export interface SimulatedDevice {
  /** Of a step; a string is why it fails. `take` counts the rounds of all candidates. */
  stepMs(candidate: Candidate, take: number): number | string;
  /** Sessions that are open at the same time. */
  readonly room?: number;
}

export function simulatedTrials({ stepMs, room = 100 }: SimulatedDevice): SimulatedTrials {
  const taken: Candidate[] = [];
  const open = new Set<string>();
  let rowsSoFar = 0;
  let opened = 0;
  const answer = (candidate: Candidate, { rows, calls, job }: StepsWanted): TrialAnswer => {
    const ms = stepMs(candidate, taken.length);
    taken.push(candidate);
    if (typeof ms === 'string') return { failure: ms };
    rowsSoFar += rows * calls;
    const stepTimes = new Array<number>(calls).fill(ms);
    return { stepMs: stepTimes, ...(job && { jobMs: 1 }), residentBytes: 1e6 * rows };
  };
  return {
    taken,
    rows: () => rowsSoFar,
    opened: () => opened,
    groupsOf: (sessions) => {
      const groups: Session[][] = [];
      for (let from = 0; from < sessions.length; from += room) groups.push(sessions.slice(from, from + room));
      return groups;
    },
    open: async (sessions) => {
      if (sessions.length + open.size > room) open.clear();
      for (const session of sessions) {
        if (!open.has(sessionKey(session))) opened += 1;
        open.add(sessionKey(session));
      }
    },
    take: async (session, wanted) => answer({ session, rowCap: wanted.rows }, wanted),
  };
}

export function memoryJournal(): RoundJournal {
  const known = new Map<string, TrialAnswer>();
  return {
    get: (key) => known.get(key),
    add: async (entries) => {
      for (const { key, value } of entries) known.set(key, value);
    },
  };
}
