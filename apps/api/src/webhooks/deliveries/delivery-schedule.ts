/**
 * When each delivery is due: one sorted set in Redis, by the clock of Redis. Any number of processes take what is due; each takes a
 * delivery under a lease, so that no other process makes the same attempt. The scripts of Deliveries add to the set and remove
 * from it in the same step that changes the delivery. Due deliveries above the share of their tenant wait in a set of the tenant, until
 * a process has room for them.
 */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { TenantId } from '@lehr/shared';
import { defineScript, type Keys, type Redis, type Script } from '@lehr/shared/redis';
import { parseDelivery, type StoredDelivery } from './deliveries.ts';
import { type EventRef, entryOf, refOf } from './outbox.ts';

const TAKE_LUA = readFileSync(new URL('./take-deliveries.lua', import.meta.url), 'utf8');
const LEASE_LUA = readFileSync(new URL('./lease-deliveries.lua', import.meta.url), 'utf8');

/** A delivery that this process may attempt while the lease lasts. */
export type LeasedDelivery = StoredDelivery & { readonly lease: string };

export interface Taken {
  readonly deliveries: readonly LeasedDelivery[];
  /** Taken, but of another version or damaged: another process may take them when their lease ends. */
  readonly unreadable: readonly { readonly ref: EventRef; readonly error: unknown }[];
  /** Redis's clock, ms. */
  readonly now: number;
  /** Until the next delivery is due, or its lease ends; undefined when there is none. */
  readonly nextInMs: number | undefined;
}

/** What a process may handle at once. */
interface TenantShare {
  /** Deliveries of one tenant. */
  readonly max: number;
  /** How many of each tenant it handles now. */
  readonly handled: ReadonlyMap<TenantId, number>;
}

const NO_LIMIT: TenantShare = { max: 1e9, handled: new Map() };

export class DeliverySchedule {
  readonly #undelivered: string;
  readonly #deferred: string;
  readonly #deliveries: string;
  readonly #take: Script;
  readonly #lease: Script;

  constructor(redis: Redis, keys: Keys) {
    this.#undelivered = keys.undelivered;
    this.#deferred = keys.deferred;
    this.#deliveries = `${keys.prefix}:delivery:`;
    this.#take = defineScript(redis, 'lehrTakeDeliveries', TAKE_LUA);
    this.#lease = defineScript(redis, 'lehrLeaseDeliveries', LEASE_LUA);
  }

  /**
   * Takes up to `count` deliveries that are due, half of them from those that were above the share of their tenant, and of both kinds
   * the longest due first.
   */
  async take(count: number, leaseMs: number, share = NO_LIMIT): Promise<Taken> {
    const lease = randomUUID();
    const reply = await this.#take.run(
      [this.#undelivered, this.#deferred],
      [
        this.#deliveries,
        `${this.#deferred}:`,
        count,
        leaseMs,
        lease,
        share.max,
        ...[...share.handled].flat(),
      ],
    );
    const [now, next, ...taken] = reply as [number, number | '', ...[entry: string, flat: string[]][]];
    const deliveries: LeasedDelivery[] = [];
    const unreadable: { ref: EventRef; error: unknown }[] = [];
    for (const [entry, flat] of taken) {
      const ref = refOf(entry);
      try {
        const delivery = parseDelivery(ref, hashOf(flat));
        if (delivery) deliveries.push({ ...delivery, lease });
      } catch (error) {
        unreadable.push({ ref, error });
      }
    }
    return { deliveries, unreadable, now, nextInMs: next === '' ? undefined : next };
  }

  /** Renews leases. Those that were lost stay lost. */
  async renew(deliveries: readonly LeasedDelivery[], leaseMs: number): Promise<void> {
    if (deliveries.length > 0) await this.#run(deliveries, leaseMs, '0');
  }

  /** Ends a lease without an attempt; the delivery is due again after `ms`. */
  release(delivery: LeasedDelivery, ms: number): Promise<void> {
    return this.#run([delivery], ms, '1');
  }

  async #run(deliveries: readonly LeasedDelivery[], ms: number, ends: '0' | '1'): Promise<void> {
    const leases = deliveries.flatMap((delivery) => [entryOf(delivery), delivery.lease]);
    await this.#lease.run([this.#undelivered], [this.#deliveries, Math.round(ms), ends, ...leases]);
  }
}

function hashOf(flat: readonly string[]): Record<string, string> {
  const hash: Record<string, string> = {};
  for (let i = 0; i < flat.length; i += 2) hash[flat[i]] = flat[i + 1];
  return hash;
}
