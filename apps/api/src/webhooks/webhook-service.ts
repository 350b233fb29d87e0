/**
 * The role `webhooks`: takes events from the outbox and delivers them. Any number of processes can have this role; they share
 * the outbox, the schedule and the health of receivers.
 */
import type { Clock, Log, Metrics } from '@lehr/shared';
import type { RecordStore } from '@lehr/shared/records';
import type { Keys } from '@lehr/shared/redis';
import type { Tracing } from '@lehr/shared/tracing';
import type { Channels } from '../follow/channels.ts';
import { RETRY_DELAYS_MS } from './attempts/attempt.ts';
import { Deliverer } from './attempts/deliverer.ts';
import { DeliveryLoop } from './delivery-loop.ts';
import { DISPATCHER_TIMES, Dispatcher, type DispatcherTimes } from './dispatcher.ts';
import type { Renderers } from './event-message.ts';
import type { WebhookParts } from './parts.ts';
import { ReceiverGate } from './receivers/receiver-gate.ts';

export interface WebhookServiceOptions extends WebhookParts {
  readonly keys: Keys;
  readonly records: RecordStore;
  readonly renderers: Renderers;
  readonly channels: Channels;
  readonly clock: Clock;
  readonly metrics: Metrics<'api'>;
  readonly log: Log;
  readonly tracing?: Tracing | undefined;
  readonly times?: Partial<WebhookServiceTimes>;
}

export interface WebhookServiceTimes extends DispatcherTimes {
  readonly retryDelaysMs: readonly number[];
  readonly closeAfterMs: number;
  readonly leaseMs: number;
}

const DAY_MS = 24 * 3_600_000;

const DEFAULT_TIMES: WebhookServiceTimes = {
  ...DISPATCHER_TIMES,
  retryDelaysMs: RETRY_DELAYS_MS,
  closeAfterMs: 5 * DAY_MS,
  leaseMs: 15_000,
};

/** Deliveries handled at once; nearly all of them wait for a receiver. */
const CONCURRENCY = 512;
const MAX_PER_TENANT = 128;
const MAX_PER_RECEIVER = 32;
/** For the leases of aborted attempts to be released. */
const ABORT_MS = 500;

export class WebhookService {
  readonly #gate: ReceiverGate;
  readonly #dispatcher: Dispatcher;
  readonly #deliverer: Deliverer;
  readonly #loop: DeliveryLoop;

  constructor(options: WebhookServiceOptions) {
    const { clock } = options;
    const times = { ...DEFAULT_TIMES, ...options.times };
    this.#gate = new ReceiverGate({ maxPerReceiver: MAX_PER_RECEIVER, clock });
    this.#dispatcher = new Dispatcher({ ...options, times });
    this.#deliverer = new Deliverer({ ...options, ...times, gate: this.#gate });
    this.#loop = new DeliveryLoop({
      ...options,
      ...times,
      concurrency: CONCURRENCY,
      maxPerTenant: MAX_PER_TENANT,
      handle: (delivery, now) => this.#deliverer.handle(delivery, now),
    });
  }

  start(): void {
    this.#dispatcher.start();
    this.#loop.start();
  }

  /** Lets running attempts finish for `graceMs`; the others are aborted, and another process makes them. */
  async stop(graceMs: number): Promise<void> {
    this.#gate.close();
    const abort = setTimeout(() => this.#deliverer.abort(), graceMs);
    await Promise.all([this.#dispatcher.stop(), this.#loop.stop(graceMs + ABORT_MS)]);
    clearTimeout(abort);
  }
}
