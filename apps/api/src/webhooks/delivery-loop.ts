/**
 * Handles the deliveries that are due, many at once: nearly all of them wait for a receiver. It renews the leases of those that it
 * handles, and waits for the next due time or for a delivery that is due at once.
 */
import { type Clock, every, type Log, type TenantId, WakeUp } from '@lehr/shared';
import type { Keys } from '@lehr/shared/redis';
import type { Channels } from '../follow/channels.ts';
import type { DeliverySchedule, LeasedDelivery } from './deliveries/delivery-schedule.ts';

export interface DeliveryLoopOptions {
  readonly schedule: DeliverySchedule;
  readonly channels: Channels;
  readonly keys: Keys;
  readonly clock: Clock;
  readonly log: Log;
  /** Deliveries handled at once. */
  readonly concurrency: number;
  /** The most of one tenant: its slow receivers must not keep the deliveries of other tenants from being handled. */
  readonly maxPerTenant: number;
  /** After this, a delivery of a process that died is handled by another one; renewed at half of it. */
  readonly leaseMs: number;
  /** The longest delay after a lost wake-up message. */
  readonly pollMs: number;
  /** Makes an attempt and stores its result, or releases the lease. `now` is Redis's clock, ms. */
  readonly handle: (delivery: LeasedDelivery, now: number) => Promise<void>;
}

/** The most deliveries taken in one call: few, so that other processes take their share of many. */
const BATCH = 16;
/** The pause after an error, such as a Redis that does not answer. */
const RETRY_MS = 1000;

export class DeliveryLoop {
  readonly #options: DeliveryLoopOptions;
  readonly #stop = new AbortController();
  readonly #wakeUp: WakeUp;
  #stopRenewals: (() => Promise<void>) | undefined;
  readonly #active = new Map<LeasedDelivery, Promise<void>>();
  #running: Promise<void> | undefined;

  constructor(options: DeliveryLoopOptions) {
    this.#options = options;
    this.#wakeUp = new WakeUp(options.clock);
  }

  start(): void {
    if (this.#running) return;
    this.#running = this.#rounds();
    const { schedule, leaseMs } = this.#options;
    const failed = 'leases of deliveries could not be renewed; trying again';
    const renew = () => schedule.renew([...this.#active.keys()], leaseMs);
    this.#stopRenewals = every(leaseMs / 2, renew, { ...this.#options, failed });
  }

  /** Takes no more deliveries, and waits at most `graceMs` for those being handled. */
  async stop(graceMs: number): Promise<void> {
    this.#stop.abort();
    this.#wakeUp.wake();
    const isOver = new AbortController();
    const handled = (async () => {
      await this.#running;
      await Promise.all(this.#active.values());
    })();
    await Promise.race([handled, this.#options.clock.sleep(graceMs, isOver.signal)]);
    isOver.abort();
    void this.#stopRenewals?.();
  }

  async #rounds(): Promise<void> {
    const { channels, keys, log, pollMs } = this.#options;
    const unlisten = channels.listen(keys.undelivered, () => this.#wakeUp.wake());
    while (!this.#stop.signal.aborted) {
      let waitMs = pollMs;
      try {
        waitMs = Math.min(pollMs, await this.#fill());
      } catch (error) {
        log.warn({ error }, 'due webhooks could not be read; retrying');
        waitMs = RETRY_MS;
      }
      await this.#wakeUp.wait(waitMs);
    }
    unlisten();
  }

  /** Takes what is due and fits. Resolves with the ms until there may be more. */
  async #fill(): Promise<number> {
    const { schedule, concurrency, maxPerTenant, leaseMs, log, pollMs } = this.#options;
    const free = concurrency - this.#active.size;
    // The end of a delivery wakes the loop.
    if (free <= 0) return pollMs;
    // A tenant takes places only while at least twice as many are free, so that several tenants with slow receivers leave some.
    const max = Math.max(1, Math.min(maxPerTenant, Math.floor(free / 2)));
    const share = { max, handled: this.#handledByTenant() };
    const taken = await schedule.take(Math.min(free, BATCH), leaseMs, share);
    const { deliveries, unreadable, now, nextInMs = pollMs } = taken;
    for (const delivery of deliveries) this.#active.set(delivery, this.#handle(delivery, now));
    for (const { ref, error } of unreadable) log.error({ error, ...ref }, 'a webhook cannot be read');
    return nextInMs;
  }

  #handledByTenant(): Map<TenantId, number> {
    const handled = new Map<TenantId, number>();
    for (const { tenant } of this.#active.keys()) handled.set(tenant, (handled.get(tenant) ?? 0) + 1);
    return handled;
  }

  async #handle(delivery: LeasedDelivery, now: number): Promise<void> {
    const { schedule, handle, log } = this.#options;
    const { job, event } = delivery;
    try {
      await handle(delivery, now);
    } catch (error) {
      log.error({ error, job, event }, 'handling a delivery failed; retrying');
      // Without Redis, the lease ends.
      await schedule.release(delivery, RETRY_MS).catch(() => {});
    } finally {
      this.#active.delete(delivery);
      this.#wakeUp.wake();
    }
  }
}
