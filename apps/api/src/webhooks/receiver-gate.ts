/**
 * How many deliveries a receiver gets at once from this process. A quick one gets many; one that is slow or fails gets fewer, down
 * to one. Who finds no room is told when to come back, evenly spread, so that a thousand deliveries to a receiver that hangs neither
 * hold the places of others nor keep asking.
 */
import type { Clock } from '@lehr/shared';

export interface GateOptions {
  readonly maxPerReceiver: number;
  readonly clock: Pick<Clock, 'monotonic'>;
}

/** Either a place, to be left again, or how long to stay away. */
export type Entry = { readonly leave: (ok: boolean) => void } | { readonly waitMs: number };

interface Lane {
  /** Deliveries under way, by when they began. */
  readonly begun: Set<{ readonly at: number }>;
  room: number;
  /** How long it takes lately. */
  meanMs: number;
  /** The next time somebody may come back. */
  nextAt: number;
}

/** A receiver that takes longer is not given more. */
const QUICK_MS = 2000;
const FIRST_ROOM = 4;
/** A stranger is taken for quick; one that hangs is found out by how long it has been at it. */
const FIRST_MEAN_MS = 20;
const SMOOTHING = 0.3;
const MIN_WAIT_MS = 20;
/** A receiver that recovers is not kept waiting for what was planned while it hung. */
const MAX_WAIT_MS = 30_000;
/** Lanes at rest are forgotten above this many: URLs are the callers' choice. */
const MAX_LANES = 5000;

export class ReceiverGate {
  readonly #options: GateOptions;
  readonly #lanes = new Map<string, Lane>();

  constructor(options: GateOptions) {
    this.#options = options;
  }

  enter(name: string): Entry {
    const lane = this.#lane(name);
    const now = this.#options.clock.monotonic();
    if (lane.begun.size >= lane.room) return { waitMs: waitOf(lane, now) };
    const delivery = { at: now };
    lane.begun.add(delivery);
    return {
      leave: (ok) => {
        lane.begun.delete(delivery);
        this.#learn(lane, this.#options.clock.monotonic() - now, ok);
      },
    };
  }

  #learn(lane: Lane, ms: number, ok: boolean): void {
    lane.meanMs += SMOOTHING * (ms - lane.meanMs);
    if (!ok) lane.room = Math.max(1, Math.floor(lane.room / 2));
    else if (ms < QUICK_MS) lane.room = Math.min(this.#options.maxPerReceiver, lane.room + 1);
  }

  #lane(name: string): Lane {
    let lane = this.#lanes.get(name);
    if (!lane) {
      if (this.#lanes.size >= MAX_LANES) this.#forgetResting();
      const room = Math.min(FIRST_ROOM, this.#options.maxPerReceiver);
      lane = { begun: new Set(), room, meanMs: FIRST_MEAN_MS, nextAt: 0 };
      this.#lanes.set(name, lane);
    }
    return lane;
  }

  #forgetResting(): void {
    for (const [name, lane] of this.#lanes) if (lane.begun.size === 0) this.#lanes.delete(name);
  }
}

function waitOf(lane: Lane, now: number): number {
  const [oldest] = lane.begun;
  const expectedMs = Math.max(lane.meanMs, now - oldest.at);
  const at = Math.max(now, lane.nextAt) + expectedMs / lane.room;
  lane.nextAt = Math.min(at, now + MAX_WAIT_MS);
  return Math.max(lane.nextAt - now, MIN_WAIT_MS);
}
