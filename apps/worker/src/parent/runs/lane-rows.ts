/**
 * The rows of each lane of the engine: its row cap, the rows that samples have taken, and the rows that are reserved for
 * jobs that have not submitted samples yet. The only place that answers whether there is room for a job of a group.
 *
 *   reserved   for an active job, under its lease, until its first samples are submitted; not for a job that still has an input to fetch
 *   taken      by a sample, from its submission until its last step begins, so that the rows are filled for the next step
 *
 * What less urgent jobs have is no obstacle to a job: bulk samples pause while others have work (engine.ts), and interactive ones join
 * lanes of standard ones. Bulk jobs find no room while others have work here, because they would only pause.
 *
 * A full lane still has room for a job that is much shorter than one of those in it: the engine lets the shortest samples step, and
 * the longest ones pause meanwhile. So the rows of a lane can be up to twice its cap.
 */
import {
  type LeaseToken,
  MAX_LANES,
  type PriorityClass,
  RecentlyUsed,
  urgencyOf,
  type WorkerStatus,
} from '@lehr/shared';
import type { SampleId } from '../../engine/protocol/messages.ts';

/** The room of a lane that is running, or that would run if a job of its group were claimed. */
export interface Room {
  /** Rows that the lane can take at its next step. */
  readonly freeRows: number;
  /** Whether the lane has samples, or rows reserved for samples to come. */
  readonly running: boolean;
  /** In a full lane: a job that costs at most this, in estimated engine ms, may be claimed for it. Absent where none may. */
  readonly shortJobMs?: number;
  /** The lane is none of MAX_LANES, so that no other lane gets a place when it runs empty. */
  readonly isUnlimited?: boolean;
}

/** What is assumed of a lane before the engine has measured it, and of a job before it is claimed. */
export interface LaneDefaults {
  firstCap(lane: string): number;
  /** Rows that a job of the group usually takes. */
  usualRows(lane: string): number;
  /** The most rows that one job or sample counts as; absent where each counts in full. */
  mostRows?(lane: string, cap: number): number;
  /** Whether the samples of the lane can pause; when absent, none can. */
  canPause?(lane: string): boolean;
  /** Whether the lane counts as one of MAX_LANES; when absent, each does. */
  isLimited?(lane: string): boolean;
}

/** A job is short enough for a full lane if one in it has this many times its cost still to go. */
const SHORT_JOB_RATIO = 3;
/** Rows of a full lane with those of its short jobs, over its cap. */
const MOST_OF_CAP = 2;

/**
 * The most row caps remembered: more than the engine remembers lanes, because it reports a cap only when it changes. A
 * forgotten one is that of the model again.
 */
const MAX_CAPS = 256;

interface LaneShare {
  readonly lane: string;
  readonly priority: PriorityClass;
  readonly rows: number;
  /** Its cost that is still to go, in estimated engine ms. */
  readonly leftMs: number;
}

interface TakenShare extends LaneShare {
  readonly costMs: number;
}

const isBulk = ({ priority }: LaneShare): boolean => priority === 'bulk';

export type LaneUsage = Pick<WorkerStatus['lanes'][number], 'rows' | 'samples' | 'paused' | 'left_ms'>;

export class LaneRows {
  readonly #reserved = new Map<LeaseToken, LaneShare>();
  readonly #taken = new Map<SampleId, TakenShare>();
  readonly #caps = new RecentlyUsed<string, number>(MAX_CAPS);
  readonly #defaults: LaneDefaults;
  readonly #onFreed: () => void;

  /** `onFreed` is called when a lane may have got more room. */
  constructor(defaults: LaneDefaults, onFreed: () => void) {
    this.#defaults = defaults;
    this.#onFreed = onFreed;
  }

  cap(lane: string): number {
    return this.#caps.get(lane) ?? this.#defaults.firstCap(lane);
  }

  setCap(lane: string, rows: number): void {
    this.#caps.set(lane, rows);
    this.#onFreed();
  }

  /** `costMs`: of the whole job, in estimated engine ms. */
  reserve(
    lease: LeaseToken,
    lane: string,
    rows: number,
    costMs = 0,
    priority: PriorityClass = 'standard',
  ): void {
    this.#reserved.set(lease, { lane, priority, rows, leftMs: costMs });
  }

  unreserve(lease: LeaseToken): void {
    this.#reserved.delete(lease);
  }

  /** `costMs`: of this sample, in estimated engine ms. */
  take(sample: SampleId, lane: string, rows: number, costMs = 0, priority: PriorityClass = 'standard'): void {
    this.#taken.set(sample, { lane, priority, rows, costMs, leftMs: costMs });
  }

  /** The sample has made this share of its steps. */
  stepped(sample: SampleId, share: number): void {
    const taken = this.#taken.get(sample);
    if (taken) this.#taken.set(sample, { ...taken, leftMs: taken.costMs * (1 - share) });
  }

  /** Does nothing when the rows of this sample are free already. */
  release(sample: SampleId): void {
    if (this.#taken.delete(sample)) this.#onFreed();
  }

  /** How many row caps are remembered. */
  get caps(): number {
    return this.#caps.size;
  }

  /** Frees the rows of all samples: their engine died. */
  releaseAll(): void {
    this.#taken.clear();
  }

  /** The lanes that have samples. */
  get lanes(): string[] {
    return [...new Set([...this.#taken.values()].map(({ lane }) => lane))];
  }

  /** Whether bulk samples pause: others have work. */
  get pausesBulk(): boolean {
    return ![...this.#taken.values()].every(isBulk);
  }

  /** The samples in a lane, those of them that pause, and the rows and the time that they all take. */
  usage(lane: string): LaneUsage {
    const shares = [...this.#taken.values()].filter((share) => share.lane === lane);
    const paused = this.pausesBulk ? shares.filter(isBulk).length : 0;
    const leftMs = (priority: PriorityClass): number =>
      Math.round(shares.reduce((sum, share) => sum + (share.priority === priority ? share.leftMs : 0), 0));
    const left_ms = {
      interactive: leftMs('interactive'),
      standard: leftMs('standard'),
      bulk: leftMs('bulk'),
    };
    return { rows: this.#rowsOf(lane, shares), samples: shares.length, paused, left_ms };
  }

  room(lane: string, priority: PriorityClass = 'standard'): Room {
    const all = [...this.#taken.values(), ...this.#reserved.values()];
    // As if the lane ran, so that no other group makes way for it.
    if (priority === 'bulk' && !all.every(isBulk)) return { running: true, freeRows: 0 };
    const isAsUrgent = (share: LaneShare): boolean => urgencyOf(share.priority) <= urgencyOf(priority);
    const shares = all.filter(isAsUrgent);
    const ofLane = shares.filter((share) => share.lane === lane);
    const running = ofLane.length > 0;
    const rows = this.#rowsOf(lane, ofLane);
    const freeRows = Math.max(0, this.cap(lane) - rows);
    const hasRoom = running ? freeRows >= this.#defaults.usualRows(lane) : this.#mayOpen(lane, shares);
    if (hasRoom) return { running, freeRows, ...(!this.#isLimited(lane) && { isUnlimited: true }) };
    const shortJobMs = running ? this.#shortJobMs(lane, rows, ofLane) : 0;
    return { running, freeRows: 0, ...(shortJobMs > 0 && { shortJobMs }) };
  }

  #mayOpen(lane: string, shares: readonly LaneShare[]): boolean {
    const lanes = new Set(shares.map((share) => share.lane).filter((each) => this.#isLimited(each)));
    return !this.#isLimited(lane) || lanes.size < MAX_LANES;
  }

  #isLimited(lane: string): boolean {
    return this.#defaults.isLimited?.(lane) ?? true;
  }

  #shortJobMs(lane: string, rows: number, shares: readonly LaneShare[]): number {
    const isWithin = rows + this.#defaults.usualRows(lane) <= MOST_OF_CAP * this.cap(lane);
    if (!isWithin || !this.#defaults.canPause?.(lane)) return 0;
    return Math.max(...shares.map(({ leftMs }) => leftMs)) / SHORT_JOB_RATIO;
  }

  /** How many jobs of the usual size fit into this many rows of the lane; at least one. */
  usualJobs(lane: string, rows: number): number {
    return Math.max(1, Math.floor(rows / this.#defaults.usualRows(lane)));
  }

  #rowsOf(lane: string, shares: readonly LaneShare[]): number {
    const most = this.#defaults.mostRows?.(lane, this.cap(lane)) ?? Number.POSITIVE_INFINITY;
    return shares.reduce((sum, { rows }) => sum + Math.min(rows, most), 0);
  }
}
