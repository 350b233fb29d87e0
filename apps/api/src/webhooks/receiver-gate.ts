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

interface ReceiverSlots {
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
const MAX_RECEIVERS = 5000;

export class ReceiverGate {
  readonly #options: GateOptions;
  readonly #receivers = new Map<string, ReceiverSlots>();
  #closed = false;

  constructor(options: GateOptions) {
    this.#options = options;
  }

  async enter(name: string): Promise<Entry> {
    if (this.#closed) return { waitMs: 0 };
    const slots = this.#slotsOf(name);
    if (slots.begun.size < slots.room) return this.#takeSlot(slots);
    return slots.waiting.size < MAX_WAITING ? this.#waitForSlot(slots) : this.#later(slots);
  }

  /** Sends everybody away who waits, and lets nobody in any more. */
  close(): void {
    this.#closed = true;
    for (const slots of this.#receivers.values()) {
      for (const { take } of slots.waiting) take({ waitMs: 0 });
    }
  }

  #takeSlot(slots: ReceiverSlots): Entry {
    const { clock } = this.#options;
    const delivery = { at: clock.monotonic() };
    slots.begun.add(delivery);
    return {
      leave: (ok) => {
        slots.begun.delete(delivery);
        this.#learn(slots, clock.monotonic() - delivery.at, ok);
        for (const { take } of slots.waiting) {
          if (slots.begun.size >= slots.room) break;
          take(this.#takeSlot(slots));
        }
      },
    };
  }

  /** Resolves with a place as soon as there is one, or with when to come back. */
  #waitForSlot(slots: ReceiverSlots): Promise<Entry> {
    const late = new AbortController();
    return new Promise((resolve) => {
      const waiter: Waiter = {
        take: (entry) => {
          slots.waiting.delete(waiter);
          late.abort();
          resolve(entry);
        },
      };
      slots.waiting.add(waiter);
      void this.#options.clock.sleep(PATIENCE_MS, late.signal).then(() => {
        if (slots.waiting.has(waiter)) waiter.take(this.#later(slots));
      });
    });
  }

  #later(slots: ReceiverSlots): Entry {
    const now = this.#options.clock.monotonic();
    const [oldest] = slots.begun;
    const expectedMs = Math.max(slots.meanMs, oldest ? now - oldest.at : 0);
    const at = Math.max(now, slots.nextAt) + expectedMs / slots.room / EAGERNESS;
    slots.nextAt = Math.min(at, now + MAX_WAIT_MS);
    return { waitMs: Math.max(slots.nextAt - now, MIN_WAIT_MS) };
  }

  #learn(slots: ReceiverSlots, ms: number, ok: boolean): void {
    slots.meanMs += SMOOTHING * (ms - slots.meanMs);
    if (!ok) slots.room = Math.max(1, Math.floor(slots.room / 2));
    else if (ms < QUICK_MS) slots.room = Math.min(this.#options.maxPerReceiver, slots.room + 1);
  }

  #slotsOf(name: string): ReceiverSlots {
    let slots = this.#receivers.get(name);
    if (!slots) {
      if (this.#receivers.size >= MAX_RECEIVERS) this.#forgetResting();
      const room = Math.min(FIRST_ROOM, this.#options.maxPerReceiver);
      slots = { begun: new Set(), waiting: new Set(), room, meanMs: FIRST_MEAN_MS, nextAt: 0 };
      this.#receivers.set(name, slots);
    }
    return slots;
  }

  #forgetResting(): void {
    for (const [name, slots] of this.#receivers) if (slots.begun.size === 0) this.#receivers.delete(name);
  }
}
