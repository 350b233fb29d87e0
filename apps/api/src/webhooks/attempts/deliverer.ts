/**
 * Handles one delivery when it is due. If its receiver is paused or has no free slot, the delivery is delayed; otherwise one
 * attempt is made and its result is stored. A process killed meanwhile leaves the delivery pending, and another process takes it
 * when its lease ends; the webhook id stays the same, so that the receiver can deduplicate.
 */
import { setMaxListeners } from 'node:events';
import { type Log, type Metrics, unreachable } from '@lehr/shared';
import type { Span, Tracing } from '@lehr/shared/tracing';
import type { Deliveries, StoredDelivery } from '../deliveries/deliveries.ts';
import type { DeliverySchedule, LeasedDelivery } from '../deliveries/delivery-schedule.ts';
import { OPERATOR } from '../operator-webhook.ts';
import type { ReceiverGate } from '../receivers/receiver-gate.ts';
import { hostKey, hostOf, type Receivers } from '../receivers/receivers.ts';
import { type Reply, type Sender, type Sent, type Verdict, verdictOf } from './attempt.ts';

export interface DelivererOptions {
  readonly deliveries: Deliveries;
  readonly schedule: DeliverySchedule;
  readonly receivers: Receivers;
  readonly gate: ReceiverGate;
  readonly sender: Sender;
  readonly metrics: Metrics<'api'>;
  readonly log: Log;
  /** Before the second attempt, the third and so on. */
  readonly retryDelaysMs: readonly number[];
  /** A URL is closed when a delivery to it used up its attempts and none has succeeded for this long. */
  readonly closeAfterMs: number;
  /** Absent: nothing is traced. */
  readonly tracing?: Tracing | undefined;
}

export class Deliverer {
  readonly #options: DelivererOptions;
  readonly #stop = new AbortController();

  constructor(options: DelivererOptions) {
    this.#options = options;
    // Every running attempt listens to this signal; Node would warn at eleven listeners.
    setMaxListeners(0, this.#stop.signal);
  }

  /** Aborts the running attempts. They do not count. */
  abort(): void {
    this.#stop.abort();
  }

  /** Makes an attempt and stores its result, or releases the lease. `now` is Redis's clock, ms. */
  async handle(delivery: LeasedDelivery, now: number): Promise<void> {
    const { schedule, receivers, gate } = this.#options;
    const { isGone, pausedMs } = await receivers.statusOf(delivery);
    if (isGone) return this.#dropUnsent(delivery);
    if (pausedMs > 0) return schedule.release(delivery, pausedMs);
    const entry = await gate.enter(hostKey(delivery));
    if ('waitMs' in entry) return schedule.release(delivery, entry.waitMs);
    let ok = false;
    try {
      const sent = await this.#attempt(delivery, now);
      if (!sent) return await schedule.release(delivery, 0);
      const verdict = this.#judge(delivery, sent.reply, now);
      ok = verdict.state === 'delivered';
      await this.#conclude(delivery, sent, verdict);
    } finally {
      entry.leave(ok);
    }
  }

  /** Undefined when it was aborted at shutdown. */
  async #attempt(delivery: StoredDelivery, now: number): Promise<Sent | undefined> {
    const { signal } = this.#stop;
    const span = this.#spanOf(delivery);
    try {
      const sent = await this.#options.sender.send(
        { ...delivery, traceparent: span?.traceparent },
        now,
        signal,
      );
      const { status, error } = sent.attempt;
      if (status !== null) span?.set({ 'http.response.status_code': status });
      span?.end({ error: error === null ? undefined : outcomeOf(sent.reply) });
      return sent;
    } catch (error) {
      span?.end({ error: signal.aborted ? 'aborted' : 'not sent' });
      if (signal.aborted) return undefined;
      throw error;
    }
  }

  #spanOf({ job, event, tries, url, trace: parent }: StoredDelivery): Span | undefined {
    if (parent === undefined) return undefined;
    const attributes = {
      'lehr.job.id': job,
      'lehr.webhook.attempt': tries + 1,
      'server.address': hostOf(url),
    };
    return this.#options.tracing?.start(`webhook ${event}`, { parent, kind: 'client', attributes });
  }

  #judge(delivery: StoredDelivery, reply: Reply, now: number): Verdict {
    return verdictOf(reply, {
      made: delivery.tries + 1,
      delaysMs: delivery.retried === '1' ? this.#options.retryDelaysMs : [],
      random: Math.random(),
      now,
    });
  }

  async #conclude(
    delivery: LeasedDelivery,
    { reply, attempt, error }: Sent,
    verdict: Verdict,
  ): Promise<void> {
    const { deliveries, metrics, log } = this.#options;
    const { status, ms } = attempt;
    metrics.webhookAttempts.inc({ outcome: outcomeOf(reply) });
    metrics.webhookAttemptDuration.observe({}, ms / 1000, delivery.trace);
    await this.#updateReceiver(delivery, verdict);
    const settled = await deliveries.settle(delivery, verdict, attempt);
    log.debug({ ...factsOf(delivery), status, ms, error }, 'webhook attempt');
    if (settled === 'settled' && verdict.state !== 'pending') this.#ended(delivery, verdict.state);
  }

  /** Shares the health of the receiver with the other processes. */
  async #updateReceiver(delivery: StoredDelivery, { state, pauseMs }: Verdict): Promise<void> {
    const { receivers, closeAfterMs } = this.#options;
    if (pauseMs !== undefined) await receivers.pause(delivery, pauseMs);
    // Nothing opens the receiver of operators again, and its webhooks are few.
    if (delivery.tenant === OPERATOR && state !== 'delivered') return;
    switch (state) {
      case 'delivered':
        return receivers.markHealthy(delivery);
      case 'gone':
        return receivers.close(delivery);
      case 'pending':
        await receivers.markFailing(delivery);
        return;
      case 'failed':
        if ((await receivers.markFailing(delivery)) > closeAfterMs) await receivers.close(delivery);
        return;
      default:
        return unreachable(state);
    }
  }

  /** Ends a delivery to a closed URL without an attempt. */
  async #dropUnsent(delivery: LeasedDelivery): Promise<void> {
    const settled = await this.#options.deliveries.settle(delivery, { state: 'gone' });
    if (settled === 'settled') this.#ended(delivery, 'gone');
  }

  #ended(delivery: StoredDelivery, state: 'delivered' | 'failed' | 'gone'): void {
    const { metrics, log } = this.#options;
    metrics.webhookDeliveries.inc({ outcome: state });
    if (state === 'failed') log.warn(factsOf(delivery), 'webhook failed after its last attempt');
    if (state === 'gone') log.info(factsOf(delivery), 'webhook dropped: its receiver is gone');
  }
}

/** For the log. Only the host: the rest of a URL may be a secret. */
const factsOf = ({ job, event, id, url }: StoredDelivery) => ({ job, event, id, host: hostOf(url) });

const outcomeOf = (reply: Reply): string =>
  'status' in reply ? `${Math.floor(reply.status / 100)}xx` : reply.fault;
