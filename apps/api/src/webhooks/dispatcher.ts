/**
 * From the outbox to the queue. An event stands in the outbox since the very script that changed the record; here it becomes a
 * delivery, its body rendered once, and is queued. Each step may be repeated, and the entry goes last, so a crash anywhere costs
 * nothing but a repetition. Beside that it looks for deliveries that nothing in the queue stands for any more.
 */
import type { Clock, Log } from '@lehr/shared';
import type { DeliveryQueue } from '@lehr/shared/queue';
import { isTerminal, type JobRecord, type RecordStore } from '@lehr/shared/records';
import type { Keys } from '@lehr/shared/redis';
import type { Channels } from '../follow/channels.ts';
import { WakeUp } from '../follow/wake-up.ts';
import type { Deliveries, DeliveryRef, EventRef } from './deliveries.ts';
import { isRepeatable, queueName, webhookId } from './message-id.ts';
import { recordAtEvent } from './record-at-event.ts';
import type { Renderer, Renderers } from './renderer.ts';

export interface DispatcherOptions {
  readonly records: RecordStore;
  readonly deliveries: Deliveries;
  readonly queue: DeliveryQueue;
  readonly renderers: Renderers;
  readonly channels: Channels;
  readonly keys: Keys;
  readonly clock: Clock;
  readonly log: Log;
  readonly times: DispatcherTimes;
}

export interface DispatcherTimes {
  /** A lost wake-up costs at most this. */
  readonly pollMs: number;
  /** Nobody else takes an entry that was taken, for so long. */
  readonly holdMs: number;
  /** Between two looks for deliveries that nothing in the queue stands for, and how late those must be. */
  readonly reconcileEveryMs: number;
  readonly lateMs: number;
  /** Between two words about a job's progress. */
  readonly progressEveryMs: number;
}

export const DISPATCHER_TIMES: DispatcherTimes = {
  pollMs: 1000,
  holdMs: 10_000,
  reconcileEveryMs: 10_000,
  lateMs: 10_000,
  progressEveryMs: 500,
};

const BATCH = 100;

export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #stop = new AbortController();
  readonly #wakeUp: WakeUp;
  #running: Promise<void> | undefined;
  #reconciledAt = Number.NEGATIVE_INFINITY;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.#wakeUp = new WakeUp(options.clock);
  }

  start(): void {
    this.#running ??= this.#rounds();
  }

  /** Resolves when the round under way is over. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#wakeUp.wake();
    await this.#running;
  }

  async #rounds(): Promise<void> {
    const { channels, keys, log, times } = this.#options;
    const unlisten = channels.listen(keys.outbox, () => this.#wakeUp.wake());
    while (!this.#stop.signal.aborted) {
      let isMore = false;
      try {
        isMore = (await this.round()) === BATCH;
      } catch (error) {
        log.warn({ error }, 'webhook round failed; trying again');
      }
      if (!isMore) await this.#wakeUp.wait(times.pollMs);
    }
    unlisten();
  }

  /** Everything that is due now, up to a batch; returns how many events were taken. */
  async round(): Promise<number> {
    const { deliveries, records, clock, log, times } = this.#options;
    if (clock.monotonic() - this.#reconciledAt >= times.reconcileEveryMs) {
      this.#reconciledAt = clock.monotonic();
      await this.#reconcile();
    }
    const refs = await deliveries.takeOutbox(BATCH, times.holdMs);
    if (refs.length === 0) return 0;
    const found = await records.readMany(refs.map(({ job }) => job));
    await Promise.all(
      refs.map((ref, i) =>
        this.#dispatch(ref, found[i]).catch((error) => {
          // It is taken again when the hold is over.
          log.error({ error, ...ref }, 'a webhook could not be queued; trying again');
        }),
      ),
    );
    return refs.length;
  }

  async #dispatch(ref: EventRef, record: JobRecord | undefined): Promise<void> {
    const { deliveries, renderers } = this.#options;
    const webhook = record?.webhook;
    if (!record || !webhook) return deliveries.leaveOutbox(ref);
    const renderer = renderers[webhook.dialect];
    if (!renderer) throw new Error(`this process does not speak ${webhook.dialect}`);
    if (isRepeatable(ref.event)) return this.#dispatchProgress(ref, record, renderer);
    const id = webhookId(ref.job, ref.event);
    await this.#queueUp({ ...ref, id }, record, renderer);
    await deliveries.leaveOutbox(ref);
  }

  /** Its entry stays for a while after each word, so that the next one is not too soon and none is missed. */
  async #dispatchProgress(ref: EventRef, record: JobRecord, renderer: Renderer): Promise<void> {
    const { deliveries, times } = this.#options;
    const id = webhookId(ref.job, ref.event, record.rev);
    const last = await deliveries.read(ref);
    if (isTerminal(record.state) || last?.delivery.id === id) return deliveries.leaveOutbox(ref);
    await this.#queueUp({ ...ref, id }, record, renderer);
    await deliveries.postpone(ref, times.progressEveryMs);
  }

  async #queueUp(ref: DeliveryRef, record: JobRecord, renderer: Renderer): Promise<void> {
    const { deliveries, queue } = this.#options;
    const { webhook, tenant } = record;
    if (!webhook) return;
    const state = await deliveries.open(ref, {
      tenant,
      url: webhook.url,
      secret: webhook.secret,
      body: JSON.stringify(await renderer.render(recordAtEvent(record, ref.event), ref.event)),
      retried: renderer.retries(ref.event) ? '1' : '0',
    });
    if (state === 'pending') await queue.add(queueName(ref.job, ref.event, ref.id), ref);
  }

  /**
   * Queues again what has no end and is late, or hurries it: the queue may have been told to wait for an attempt that was due later
   * than this one. One that is looked at in vain, because its receiver is paused or full, waits again.
   */
  async #reconcile(): Promise<void> {
    const { deliveries, queue, times } = this.#options;
    const late = await deliveries.takeLate(times.lateMs, BATCH, times.reconcileEveryMs + times.lateMs);
    await Promise.all(
      late.map(async (ref) => {
        const found = await deliveries.read(ref);
        if (found?.delivery.state !== 'pending') return deliveries.forgetLate(ref);
        const { id } = found.delivery;
        return queue.addNow(queueName(ref.job, ref.event, id), { ...ref, id });
      }),
    );
  }
}
