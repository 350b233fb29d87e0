/**
 * Turns events of the outbox into deliveries: stores the rendered body once, due at once, and then removes the event. Both steps can
 * be repeated, so a crash between them costs a repetition and loses nothing.
 */
import { type Clock, type Log, WakeUp } from '@lehr/shared';
import { isTerminal, type JobRecord, type RecordStore } from '@lehr/shared/records';
import type { Keys } from '@lehr/shared/redis';
import type { Channels } from '../follow/channels.ts';
import type { Deliveries, DeliveryRef } from './deliveries/deliveries.ts';
import type { EventRef, Outbox } from './deliveries/outbox.ts';
import { isRepeatable, type Renderer, type Renderers, recordAtEvent, webhookId } from './event-message.ts';

export interface DispatcherOptions {
  readonly records: RecordStore;
  readonly outbox: Outbox;
  readonly deliveries: Deliveries;
  readonly renderers: Renderers;
  readonly channels: Channels;
  readonly keys: Keys;
  readonly clock: Clock;
  readonly log: Log;
  readonly times: DispatcherTimes;
}

export interface DispatcherTimes {
  /** The longest delay after a lost wake-up message. */
  readonly pollMs: number;
  /** No other process takes an event that was taken, for this long. */
  readonly holdMs: number;
  /** Least time between two webhooks about the progress of a job. */
  readonly progressEveryMs: number;
}

export const DISPATCHER_TIMES: DispatcherTimes = {
  pollMs: 1000,
  holdMs: 10_000,
  progressEveryMs: 500,
};

const BATCH = 100;
/** Until an event of a record that cannot be read is due again. */
const UNREADABLE_MS = 60_000;

export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #stop = new AbortController();
  readonly #wakeUp: WakeUp;
  #running: Promise<void> | undefined;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.#wakeUp = new WakeUp(options.clock);
  }

  start(): void {
    this.#running ??= this.#rounds();
  }

  /** Resolves after the current round. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#wakeUp.wake();
    await this.#running;
  }

  async #rounds(): Promise<void> {
    const { channels, keys, log, times } = this.#options;
    const unlisten = channels.listen(keys.outbox, () => this.#wakeUp.wake());
    while (!this.#stop.signal.aborted) {
      let hasMore = false;
      try {
        hasMore = (await this.round()) === BATCH;
      } catch (error) {
        log.warn({ error }, 'webhook round failed; retrying');
      }
      if (!hasMore) await this.#wakeUp.wait(times.pollMs);
    }
    unlisten();
  }

  /** Handles the events that are due, up to a batch. Returns how many there were. */
  async round(): Promise<number> {
    const { outbox, records, log, times } = this.#options;
    const refs = await outbox.take({ count: BATCH, holdMs: times.holdMs });
    if (refs.length === 0) return 0;
    const found = await records.find(refs.map(({ job }) => job));
    const unreadable = new Set(found.unreadable.map(({ id }) => id));
    await Promise.all(
      refs.map((ref, i) =>
        // Another process may be able to read the record.
        (unreadable.has(ref.job)
          ? outbox.postpone(ref, UNREADABLE_MS)
          : this.#dispatch(ref, found.records[i])
        ).catch((error) => {
          // It is due again after holdMs.
          log.error({ error, ...ref }, 'a webhook could not be queued; retrying');
        }),
      ),
    );
    return refs.length;
  }

  async #dispatch(ref: EventRef, record: JobRecord | undefined): Promise<void> {
    const { outbox, renderers } = this.#options;
    const webhook = record?.webhook;
    if (!record || !webhook) return outbox.remove(ref);
    const renderer = renderers[webhook.dialect];
    if (!renderer) throw new Error(`this process has no renderer for the dialect ${webhook.dialect}`);
    if (isRepeatable(ref.event)) return this.#dispatchProgress(ref, record, renderer);
    const id = webhookId(ref.job, ref.event);
    await this.#openDelivery({ ...ref, id }, record, renderer);
    await outbox.remove(ref);
  }

  /** The event stays in the outbox and is due again later: this limits the rate and misses no change. */
  async #dispatchProgress(ref: EventRef, record: JobRecord, renderer: Renderer): Promise<void> {
    const { outbox, deliveries, times } = this.#options;
    const id = webhookId(ref.job, ref.event, record.rev);
    const last = await deliveries.read(ref);
    if (isTerminal(record.state) || last?.delivery.id === id) return outbox.remove(ref);
    await this.#openDelivery({ ...ref, id }, record, renderer);
    await outbox.postpone(ref, times.progressEveryMs);
  }

  async #openDelivery(ref: DeliveryRef, record: JobRecord, renderer: Renderer): Promise<void> {
    const { deliveries } = this.#options;
    const { webhook, tenant, trace } = record;
    if (!webhook) return;
    await deliveries.open(ref, {
      tenant,
      url: webhook.url,
      signer: webhook.signer,
      body: JSON.stringify(await renderer.render(recordAtEvent(record, ref.event), ref.event)),
      retried: renderer.retries(ref.event) ? '1' : '0',
      ...(trace !== undefined && { trace }),
    });
  }
}
