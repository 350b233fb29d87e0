/**
 * The rows of each lane of the engine: its row cap, the rows that samples have taken, and the rows that are reserved for
 * jobs that have not submitted samples yet. The only place that answers whether there is room for a job of a group.
 *
 *   reserved   for an active job, under its lease, until its first samples are submitted
 *   taken      by a sample, from its submission until its last step begins, so that the rows are filled for the next step
 *
 * A full lane still has room for a job that is much shorter than one of those in it: the engine lets the shortest samples step, and
 * the longest ones pause meanwhile. So the rows of a lane can be up to twice its cap.
 */
import { type LeaseToken, RecentlyUsed } from '@lehr/shared';
import type { SampleId } from '../engine/protocol.ts';

/** The room of a lane that is running, or that would run if a job of its group were claimed. */
export interface Room {
  /** Rows that the lane can take at its next step. */
  readonly freeRows: number;
  /** Whether the lane has samples, or rows reserved for samples to come. */
  readonly running: boolean;
  /** In a full lane: a job that costs at most this, in estimated engine ms, may be claimed for it. Absent where none may. */
  readonly shortJobMs?: number;
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
}

/** A job is short enough for a full lane if one in it has this many times its cost still to go. */
const SHORT_JOB_RATIO = 3;
/** Rows of a full lane with those of its short jobs, over its cap. */
const MOST_OF_CAP = 2;

/** The most lanes on one device: each further lane makes every step of the others wait longer. */
export const MAX_LANES = 4;

/**
 * The most row caps remembered: more than the engine remembers lanes, because it reports a cap only when it changes. A
 * forgotten one is that of the model again.
 */
const MAX_CAPS = 256;

interface LaneShare {
  readonly lane: string;
  readonly rows: number;
  /** Its cost that is still to go, in estimated engine ms. */
  readonly leftMs: number;
}

interface TakenShare extends LaneShare {
  readonly costMs: number;
}

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
  reserve(lease: LeaseToken, lane: string, rows: number, costMs = 0): void {
    this.#reserved.set(lease, { lane, rows, leftMs: costMs });
  }

  unreserve(lease: LeaseToken): void {
    this.#reserved.delete(lease);
  }

  /** `costMs`: of this sample, in estimated engine ms. */
  take(sample: SampleId, lane: string, rows: number, costMs = 0): void {
    this.#taken.set(sample, { lane, rows, costMs, leftMs: costMs });
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

  /** The samples in a lane and the rows that they have taken. */
  usage(lane: string): { rows: number; samples: number } {
    const shares = [...this.#taken.values()].filter((share) => share.lane === lane);
    return { rows: this.#rowsOf(lane, shares), samples: shares.length };
  }

  room(lane: string): Room {
    const shares = [...this.#taken.values(), ...this.#reserved.values()];
    const ofLane = shares.filter((share) => share.lane === lane);
    const running = ofLane.length > 0;
    const rows = this.#rowsOf(lane, ofLane);
    const freeRows = Math.max(0, this.cap(lane) - rows);
    const hasRoom = running
      ? freeRows >= this.#defaults.usualRows(lane)
      : new Set(shares.map((share) => share.lane)).size < MAX_LANES;
    if (hasRoom) return { running, freeRows };
    const shortJobMs = running ? this.#shortJobMs(lane, rows, ofLane) : 0;
    return { running, freeRows: 0, ...(shortJobMs > 0 && { shortJobMs }) };
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
