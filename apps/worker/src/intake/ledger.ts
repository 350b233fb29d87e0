/**
 * How many rows each lane of the engine has taken, kept by the parent: rows are spent when a sample is submitted and come
 * back when its last step begins, so the place can be filled for the very next step.
 */
import type { SampleId } from '../engine/protocol.ts';
import type { Room } from './policy.ts';

/** Lanes of one device at most: each further one makes every step of the others wait longer. */
export const MAX_LANES = 4;

interface Held {
  readonly lane: string;
  readonly rows: number;
}

export class Ledger {
  readonly #held = new Map<SampleId, Held>();
  readonly #capOf = new Map<string, number>();
  readonly #firstCap: (lane: string) => number;

  /** `firstCap`: rows to assume for a lane that has not been measured yet. */
  constructor(firstCap: (lane: string) => number) {
    this.#firstCap = firstCap;
  }

  setCap(lane: string, rows: number): void {
    this.#capOf.set(lane, rows);
  }

  cap(lane: string): number {
    return this.#capOf.get(lane) ?? this.#firstCap(lane);
  }

  spend(sample: SampleId, lane: string, rows: number): void {
    this.#held.set(sample, { lane, rows });
  }

  laneOf(sample: SampleId): string | undefined {
    return this.#held.get(sample)?.lane;
  }

  /** True when this sample still held rows. */
  release(sample: SampleId): boolean {
    return this.#held.delete(sample);
  }

  /** Everything is gone: the engine died. */
  clear(): void {
    this.#held.clear();
  }

  usage(lane: string): { rows: number; samples: number } {
    let rows = 0;
    let samples = 0;
    for (const held of this.#held.values()) {
      if (held.lane !== lane) continue;
      rows += held.rows;
      samples += 1;
    }
    return { rows, samples };
  }

  /** Lanes with samples in them. */
  get lanes(): string[] {
    return [...new Set([...this.#held.values()].map((held) => held.lane))];
  }

  room(lane: string): Room {
    const { rows, samples } = this.usage(lane);
    const running = samples > 0;
    const isShutOut = !running && this.lanes.length >= MAX_LANES;
    return { running, freeRows: isShutOut ? 0 : Math.max(0, this.cap(lane) - rows) };
  }
}
