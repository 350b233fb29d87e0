/**
 * Limits how many deliveries this process makes to one receiver at once. A receiver that replies quickly gets more slots; one that
 * is slow gets no more, and one that fails gets fewer, down to one. Without a free slot a delivery waits here if few others do;
 * otherwise it is delayed. The delays are spread evenly, so that a thousand deliveries to a receiver that hangs neither block
 * those to other receivers nor poll.
 */
import type { Clock } from '@lehr/shared';

export interface GateOptions {
  readonly maxPerReceiver: number;
  readonly clock: Pick<Clock, 'monotonic' | 'sleep'>;
}

/** Either a slot, which must be given back with `leave`, or the time after which to try again. */
export type Entry = { readonly leave: (ok: boolean) => void } | { readonly waitMs: number };

interface Waiter {
  readonly take: (entry: Entry) => void;
}

interface ReceiverSlots {
  /** Running deliveries, the oldest first. */
  readonly running: Set<{ readonly at: number }>;
  /** First come, first served. */
  readonly waiting: Set<Waiter>;
  limit: number;
  /** Moving average of the time a delivery takes. */
  meanMs: number;
  /** When the delivery that was delayed last tries again. */
  nextAt: number;
}

/** A receiver that takes longer gets no more slots. */
const QUICK_MS = 2000;
const FIRST_LIMIT = 8;
/** A new receiver is assumed to be quick; the age of its oldest running delivery corrects that. */
const FIRST_MEAN_MS = 20;
const SMOOTHING = 0.3;
/** How many wait for a slot, and how long: enough that a receiver is never idle while a delivery for it is due. */
const MAX_WAITING = 32;
const MAX_WAITING_MS = 5000;
const MIN_DELAY_MS = 20;
/** When a receiver recovers, the deliveries that were delayed while it hung come back within this time. */
const MAX_DELAY_MS = 30_000;
/** Delayed deliveries try again at twice the expected service rate: the estimate may be too low, and a try is cheap. */
const PACE_FACTOR = 2;
/** Above this, receivers without a running delivery are forgotten: callers choose the URLs. */
const MAX_RECEIVERS = 5000;

export class ReceiverGate {
  readonly #options: GateOptions;
  readonly #receivers = new Map<string, ReceiverSlots>();
  #closed = false;

  constructor(options: GateOptions) {
    this.#options = options;
  }

  async enter(receiver: string): Promise<Entry> {
    if (this.#closed) return { waitMs: 0 };
    const slots = this.#slotsOf(receiver);
    if (slots.running.size < slots.limit) return this.#takeSlot(slots);
    return slots.waiting.size < MAX_WAITING ? this.#waitForSlot(slots) : this.#delay(slots);
  }

  /** Rejects all that wait and all that come later. */
  close(): void {
    this.#closed = true;
    for (const slots of this.#receivers.values()) {
      for (const { take } of slots.waiting) take({ waitMs: 0 });
    }
  }

  #takeSlot(slots: ReceiverSlots): Entry {
    const { clock } = this.#options;
    const delivery = { at: clock.monotonic() };
    slots.running.add(delivery);
    return {
      leave: (ok) => {
        slots.running.delete(delivery);
        this.#learn(slots, clock.monotonic() - delivery.at, ok);
        for (const { take } of slots.waiting) {
          if (slots.running.size >= slots.limit) break;
          take(this.#takeSlot(slots));
        }
      },
    };
  }

  /** Resolves with a slot as soon as one is free, or with a delay. */
  #waitForSlot(slots: ReceiverSlots): Promise<Entry> {
    const timeout = new AbortController();
    return new Promise((resolve) => {
      const waiter: Waiter = {
        take: (entry) => {
          slots.waiting.delete(waiter);
          timeout.abort();
          resolve(entry);
        },
      };
      slots.waiting.add(waiter);
      void this.#options.clock.sleep(MAX_WAITING_MS, timeout.signal).then(() => {
        if (slots.waiting.has(waiter)) waiter.take(this.#delay(slots));
      });
    });
  }

  #delay(slots: ReceiverSlots): Entry {
    const now = this.#options.clock.monotonic();
    const [oldest] = slots.running;
    const expectedMs = Math.max(slots.meanMs, oldest ? now - oldest.at : 0);
    const at = Math.max(now, slots.nextAt) + expectedMs / slots.limit / PACE_FACTOR;
    slots.nextAt = Math.min(at, now + MAX_DELAY_MS);
    return { waitMs: Math.max(slots.nextAt - now, MIN_DELAY_MS) };
  }

  #learn(slots: ReceiverSlots, ms: number, ok: boolean): void {
    slots.meanMs += SMOOTHING * (ms - slots.meanMs);
    if (!ok) slots.limit = Math.max(1, Math.floor(slots.limit / 2));
    else if (ms < QUICK_MS) slots.limit = Math.min(this.#options.maxPerReceiver, slots.limit + 1);
  }

  #slotsOf(receiver: string): ReceiverSlots {
    let slots = this.#receivers.get(receiver);
    if (!slots) {
      if (this.#receivers.size >= MAX_RECEIVERS) this.#forgetIdle();
      const limit = Math.min(FIRST_LIMIT, this.#options.maxPerReceiver);
      slots = { running: new Set(), waiting: new Set(), limit, meanMs: FIRST_MEAN_MS, nextAt: 0 };
      this.#receivers.set(receiver, slots);
    }
    return slots;
  }

  #forgetIdle(): void {
    for (const [receiver, slots] of this.#receivers) {
      if (slots.running.size === 0) this.#receivers.delete(receiver);
    }
  }
}
