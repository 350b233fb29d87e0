/** A scaling decision: what it is made from, the work that arrives, and the sentence that explains it. */
import type { PriorityClass } from '../../contracts/job.ts';
import type { ScaleReason } from '../../contracts/scale.ts';
import type { ScalePolicy, WorkerLimits } from './policy.ts';

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

interface Explained {
  readonly desired: number;
  readonly reason: ScaleReason;
  readonly need: Need;
  readonly held: { readonly workers: number; readonly untilMs: number } | undefined;
  readonly limits: WorkerLimits;
  readonly policy: ScalePolicy;
  readonly state: PoolState;
  readonly startMs: number;
}

/** The sentence of a scaling decision. */
export function explain(explained: Explained): string {
  const { desired, reason, limits } = explained;
  const why = whyOf(explained);
  switch (reason) {
    case 'min':
      return `${desired}: ${why}; the pool always has at least ${limits.min}`;
    case 'max':
      return `${desired}: ${why}; the pool has at most ${limits.max}`;
    case 'budget':
      return `${desired}: ${why}; the budget allows ${limits.max}`;
    case 'schedule':
      return `${desired}: ${why}; the schedule now asks for ${desired === limits.min ? 'at least' : 'at most'} ${desired}`;
    default:
      return `${desired}: ${why}`;
  }
}

function whyOf({ need, held, policy, state, startMs }: Explained): string {
  if (held) {
    const seconds = Math.max(1, Math.ceil((held.untilMs - state.atMs) / 1000));
    return `${held.workers === 1 ? '1 was' : `${held.workers} were`} needed a short time ago, kept for ${seconds} s more`;
  }
  switch (need.reason) {
    case 'idle':
      return 'no work';
    case 'running':
      return state.running === 1 ? '1 job runs' : `${state.running} jobs run`;
    case 'arriving':
      return `work for ${need.arriving.toFixed(1)} workers arrives`;
    case 'waiting': {
      const { priority = 'standard', waitingMs = 0, thenMs = 0 } = need;
      const kind = priority === 'standard' ? 'work' : `${priority} work`;
      const then = inSeconds(thenMs);
      const [now, target] = [inSeconds(waitingMs), inSeconds(policy.target_wait_s[priority] * 1000)];
      const later = then === now ? '' : ` (${then} when a new worker serves)`;
      const starts = startMs < 1000 ? '' : `, starts take ${inSeconds(startMs)}`;
      return `${now} of ${kind} waits${later}, target ${target}${starts}`;
    }
  }
}

const inSeconds = (ms: number): string =>
  `${ms < 10_000 ? Number((ms / 1000).toFixed(1)) : Math.round(ms / 1000)} s`;

/** One look at a pool: [when in ms, engine ms that wait, engine ms that the workers have done since the first look]. */
type LoadSample = readonly [atMs: number, backlogMs: number, doneMs: number];

/** The samples are as far apart as this part of the window, so that their number is bounded. */
const SPACING_SHARE = 1 / 24;
/** What arrives between two looks is taken to have arrived in at least this time: one job just after a look is no stream of jobs. */
const LEAST_SPAN_MS = 5_000;
/** If a pool was not looked at for longer, what its workers did meanwhile is not known. */
const MAX_GAP_MS = 60_000;

interface Look {
  readonly atMs: number;
  readonly backlogMs: number;
  /** How many workers' worth of work runs. */
  readonly busy: number;
}

/**
 * Estimates how much work arrives, from what is seen of a pool now and then: work that arrived is what the queue grew by, and what
 * the workers have done in the meantime. So nothing has to count arrivals.
 * The last sample is always this look, and the first one at most `windowMs` older. `busy` is taken to have been so since the look
 * before.
 */
export function addLook(
  samples: readonly LoadSample[],
  { atMs, backlogMs, busy }: Look,
  windowMs: number,
): readonly LoadSample[] {
  const last = samples.at(-1);
  if (!last || atMs < last[0] || atMs - last[0] > MAX_GAP_MS) return [[atMs, backlogMs, 0]];
  const look: LoadSample = [atMs, backlogMs, Math.round(last[2] + busy * (atMs - last[0]))];
  const before = samples.at(-2);
  const kept = before && last[0] - before[0] < windowMs * SPACING_SHARE ? samples.slice(0, -1) : samples;
  const recent = kept.filter(([at]) => at >= atMs - windowMs);
  return [...recent, look];
}

/** Workers' worth of work that arrives, engine ms per ms; 0 until there are two looks. */
export function arrivingOf(samples: readonly LoadSample[]): number {
  const [first, last] = [samples[0], samples.at(-1)];
  if (!first || !last || last[0] === first[0]) return 0;
  const spanMs = Math.max(LEAST_SPAN_MS, last[0] - first[0]);
  return Math.max(0, (last[1] - first[1] + last[2] - first[2]) / spanMs);
}
