/**
 * How many deliveries a receiver gets at once from this process. A quick one gets many; one that is slow or fails gets fewer, down
 * to one. Who finds no room waits for it here, if few others do; the rest are told when to come back, evenly spread, so that a thousand
 * deliveries to a receiver that hangs neither hold the places of others nor keep asking.
 */
import type { Clock } from '@lehr/shared';

export interface GateOptions {
  readonly maxPerReceiver: number;
  readonly clock: Pick<Clock, 'monotonic' | 'sleep'>;
}

/** Either a place, to be left again, or how long to stay away. */
export type Entry = { readonly leave: (ok: boolean) => void } | { readonly waitMs: number };

interface Waiter {
  readonly take: (entry: Entry) => void;
}

interface Lane {
  /** Deliveries under way, by when they began. */
  readonly begun: Set<{ readonly at: number }>;
  /** First come, first served. */
  readonly waiting: Set<Waiter>;
  room: number;
  /** How long it takes lately. */
  meanMs: number;
  /** The next time somebody may come back. */
  nextAt: number;
}

/** A receiver that takes longer is not given more. */
const QUICK_MS = 2000;
const FIRST_ROOM = 8;
/** A stranger is taken for quick; one that hangs is found out by how long it has been at it. */
const FIRST_MEAN_MS = 20;
const SMOOTHING = 0.3;
/** So many wait here, and so long: enough that a receiver is never idle while there is something for it. */
const MAX_WAITING = 32;
const PATIENCE_MS = 5000;
const MIN_WAIT_MS = 20;
/** A receiver that recovers is not kept waiting for what was planned while it hung. */
const MAX_WAIT_MS = 30_000;
/** They come back at twice the rate at which they can be served: the guess may be wrong, and to ask is cheap. */
const EAGERNESS = 2;
/** Lanes at rest are forgotten above this many: URLs are the callers' choice. */
const MAX_LANES = 5000;

export class ReceiverGate {
  readonly #options: GateOptions;
  readonly #lanes = new Map<string, Lane>();
  #closed = false;

  constructor(options: GateOptions) {
    this.#options = options;
  }

  async enter(name: string): Promise<Entry> {
    if (this.#closed) return { waitMs: 0 };
    const lane = this.#lane(name);
    if (lane.begun.size < lane.room) return this.#place(lane);
    return lane.waiting.size < MAX_WAITING ? this.#turn(lane) : this.#later(lane);
  }

  /** Sends everybody away who waits, and lets nobody in any more. */
  close(): void {
    this.#closed = true;
    for (const lane of this.#lanes.values()) {
      for (const { take } of lane.waiting) take({ waitMs: 0 });
    }
  }

  #place(lane: Lane): Entry {
    const { clock } = this.#options;
    const delivery = { at: clock.monotonic() };
    lane.begun.add(delivery);
    return {
      leave: (ok) => {
        lane.begun.delete(delivery);
        this.#learn(lane, clock.monotonic() - delivery.at, ok);
        for (const { take } of lane.waiting) {
          if (lane.begun.size >= lane.room) break;
          take(this.#place(lane));
        }
      },
    };
  }

  /** Resolves with a place as soon as there is one, or with when to come back. */
  #turn(lane: Lane): Promise<Entry> {
    const late = new AbortController();
    return new Promise((resolve) => {
      const waiter: Waiter = {
        take: (entry) => {
          lane.waiting.delete(waiter);
          late.abort();
          resolve(entry);
        },
      };
      lane.waiting.add(waiter);
      void this.#options.clock.sleep(PATIENCE_MS, late.signal).then(() => {
        if (lane.waiting.has(waiter)) waiter.take(this.#later(lane));
      });
    });
  }

  #later(lane: Lane): Entry {
    const now = this.#options.clock.monotonic();
    const [oldest] = lane.begun;
    const expectedMs = Math.max(lane.meanMs, oldest ? now - oldest.at : 0);
    const at = Math.max(now, lane.nextAt) + expectedMs / lane.room / EAGERNESS;
    lane.nextAt = Math.min(at, now + MAX_WAIT_MS);
    return { waitMs: Math.max(lane.nextAt - now, MIN_WAIT_MS) };
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
      lane = { begun: new Set(), waiting: new Set(), room, meanMs: FIRST_MEAN_MS, nextAt: 0 };
      this.#lanes.set(name, lane);
    }
    return lane;
  }

  #forgetResting(): void {
    for (const [name, lane] of this.#lanes) if (lane.begun.size === 0) this.#lanes.delete(name);
  }
}
