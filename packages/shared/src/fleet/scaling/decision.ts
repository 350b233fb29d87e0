/** The words of a scaling decision: what it is made from, and what it says. */
import type { PriorityClass } from '../../contracts/job.ts';
import type { ScaleReason } from '../../contracts/scale.ts';
import type { LoadSample } from './load.ts';

export interface PoolState {
  /** Ms since the epoch. */
  readonly atMs: number;
  /** Estimated engine ms of the waiting jobs of each class. */
  readonly waitingMs: Readonly<Record<PriorityClass, number>>;
  /** Jobs that workers have in hand. */
  readonly running: number;
  /** How many workers' worth of work runs: a worker with half of its rows in use counts half. */
  readonly busy: number;
  /** Workers that take jobs. */
  readonly live: number;
  /** How long a worker takes from the decision until it serves, as measured; undefined: not measured yet. */
  readonly startMs?: number | undefined;
}

/** What the next decision needs of the earlier ones. Plain JSON. */
export interface ScaleMemory {
  readonly desired: number;
  /** Numbers wanted recently: [when in ms, how many]. Each is larger than all later ones. */
  readonly peaks: readonly (readonly [atMs: number, workers: number])[];
  readonly samples: readonly LoadSample[];
}

export const NO_MEMORY: ScaleMemory = { desired: 0, peaks: [], samples: [] };

export interface ScaleDecision {
  readonly desired: number;
  readonly reason: ScaleReason;
  /** The number and the reason in a sentence: "3: 41 s of work waits, target 15 s". */
  readonly explanation: string;
  readonly memory: ScaleMemory;
}

/** What one need asks for. */
export interface Need {
  readonly reason: Extract<ScaleReason, 'idle' | 'waiting' | 'arriving' | 'running'>;
  readonly workers: number;
  /** Of `waiting`: the class whose target asks for the most, and the engine ms of it and of more urgent ones that wait now. */
  readonly priority?: PriorityClass;
  readonly waitingMs?: number;
  /** What will wait when a worker that is started now serves. */
  readonly thenMs?: number;
  /** Workers' worth of work that arrives. */
  readonly arriving: number;
}
