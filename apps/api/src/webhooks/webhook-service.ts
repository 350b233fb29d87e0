/**
 * The role `webhooks`: takes events from the outbox and delivers them. Any number of processes may have it; they share the outbox,
 * the queue and what is known of receivers.
 */
import type { Clock, Log, Metrics } from '@lehr/shared';
import { DeliveryWorker } from '@lehr/shared/queue';
import type { RecordStore } from '@lehr/shared/records';
import type { Keys, Redis } from '@lehr/shared/redis';
import type { Channels } from '../follow/channels.ts';
import { Deliverer } from './deliverer.ts';
import { DISPATCHER_TIMES, Dispatcher, type DispatcherTimes } from './dispatcher.ts';
import type { WebhookParts } from './parts.ts';
import { ReceiverGate } from './receiver-gate.ts';
import type { Renderers } from './renderer.ts';
import { RETRY_DELAYS_MS } from './schedule.ts';

export interface WebhookServiceOptions extends WebhookParts {
  /** A connection of the role `blocking`, for the queue alone. */
  readonly blocking: Redis;
  readonly keys: Keys;
  readonly records: RecordStore;
  readonly renderers: Renderers;
  readonly channels: Channels;
  readonly clock: Clock;
  readonly metrics: Metrics<'api'>;
  readonly log: Log;
  readonly times?: Partial<WebhookServiceTimes>;
}

export interface WebhookServiceTimes extends DispatcherTimes {
  readonly retryDelaysMs: readonly number[];
  readonly closeAfterMs: number;
  readonly leaseMs: number;
  readonly stalledCheckMs: number;
}

const DAY_MS = 24 * 3_600_000;

const DELIVERY_TIMES: WebhookServiceTimes = {
  ...DISPATCHER_TIMES,
  retryDelaysMs: RETRY_DELAYS_MS,
  closeAfterMs: 5 * DAY_MS,
  leaseMs: 15_000,
  stalledCheckMs: 5_000,
};

/** Deliveries in hand at once; nearly all of them wait for a receiver. */
const CONCURRENCY = 512;
const MAX_PER_RECEIVER = 32;
/** Until attempts that were cut off are back in the queue. */
const CUT_MS = 500;

export class WebhookService {
  readonly #gate: ReceiverGate;
  readonly #dispatcher: Dispatcher;
  readonly #deliverer: Deliverer;
  readonly #worker: DeliveryWorker;

  constructor(options: WebhookServiceOptions) {
    const { blocking, clock } = options;
    const times = { ...DELIVERY_TIMES, ...options.times };
    this.#gate = new ReceiverGate({ maxPerReceiver: MAX_PER_RECEIVER, clock });
    this.#dispatcher = new Dispatcher({ ...options, times });
    this.#deliverer = new Deliverer({ ...options, ...times, gate: this.#gate });
    this.#worker = new DeliveryWorker({
      ...options,
      ...times,
      redis: blocking,
      concurrency: CONCURRENCY,
      handle: (delivery) => this.#deliverer.handle(delivery),
    });
  }

  start(): void {
    this.#dispatcher.start();
    this.#worker.start();
  }

  /** Attempts under way may finish for `graceMs`; those that do not are made again by another process. */
  async stop(graceMs: number): Promise<void> {
    this.#gate.close();
    const cut = setTimeout(() => this.#deliverer.abort(), graceMs);
    await Promise.all([this.#dispatcher.stop(), this.#worker.stop(graceMs + CUT_MS)]);
    clearTimeout(cut);
  }
}
