/**
 * What is done with one delivery when its turn comes: perhaps later (its receiver is full, or left alone for a while), else one
 * attempt and what follows from it. Whoever is killed in the middle leaves a delivery without an end, which the queue hands to the
 * next process; the webhook id stays the same, so the receiver can tell.
 */
import { setMaxListeners } from 'node:events';
import { type Log, type Metrics, unreachable } from '@lehr/shared';
import type { QueuedDelivery } from '@lehr/shared/queue';
import type { Deliveries, StoredDelivery } from './deliveries.ts';
import type { ReceiverGate } from './receiver-gate.ts';
import { hostOf, laneOf, type Receivers } from './receivers.ts';
import { type Reply, type Verdict, verdictOf } from './schedule.ts';
import type { Sender, Sent } from './sender.ts';

export interface DelivererOptions {
  readonly deliveries: Deliveries;
  readonly receivers: Receivers;
  readonly gate: ReceiverGate;
  readonly sender: Sender;
  readonly metrics: Metrics<'api'>;
  readonly log: Log;
  /** Before the second attempt, the third and so on. */
  readonly retryDelaysMs: readonly number[];
  /** A URL that took nothing for so long, and used up every attempt of a delivery, is given nothing more. */
  readonly closeAfterMs: number;
}

/** After this a delivery is looked at again that was cut off at shutdown, or asked for again meanwhile. */
const SOON_MS = 0;

export class Deliverer {
  readonly #options: DelivererOptions;
  readonly #stop = new AbortController();

  constructor(options: DelivererOptions) {
    this.#options = options;
    // Every attempt under way listens to it.
    setMaxListeners(0, this.#stop.signal);
  }

  /** Cuts the attempts under way; they count for nothing. */
  abort(): void {
    this.#stop.abort();
  }

  /** Undefined when the delivery needs nothing more, else after how many ms to look again. */
  async handle({ job, event, id }: QueuedDelivery): Promise<number | undefined> {
    const { deliveries, receivers, gate } = this.#options;
    const found = await deliveries.read({ job, event });
    if (!found || found.delivery.id !== id || found.delivery.state !== 'pending') return undefined;
    const { delivery, now } = found;
    // The queue goes by the clocks of its processes; this one is Redis's.
    if (delivery.due_at > now) return delivery.due_at - now;
    const { isGone, pausedMs } = await receivers.look(delivery);
    if (isGone) return this.#end(delivery, 'gone');
    if (pausedMs > 0) return pausedMs;
    const entry = await gate.enter(laneOf(delivery));
    if ('waitMs' in entry) return entry.waitMs;
    let ok = false;
    try {
      const sent = await this.#attempt(delivery, now);
      if (!sent) return SOON_MS;
      const verdict = this.#judge(delivery, sent.reply, now);
      ok = verdict.state === 'delivered';
      return await this.#conclude(delivery, sent, verdict);
    } finally {
      entry.leave(ok);
    }
  }

  /** Undefined when it was cut off at shutdown. */
  async #attempt(delivery: StoredDelivery, now: number): Promise<Sent | undefined> {
    const { signal } = this.#stop;
    try {
      return await this.#options.sender.send(delivery, now, signal);
    } catch (error) {
      if (signal.aborted) return undefined;
      throw error;
    }
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
    delivery: StoredDelivery,
    { reply, attempt, error }: Sent,
    verdict: Verdict,
  ): Promise<number | undefined> {
    const { deliveries, metrics, log } = this.#options;
    const { status, ms } = attempt;
    metrics.webhookAttempts.inc({ outcome: outcomeOf(reply) });
    metrics.webhookAttemptDuration.observe(ms / 1000);
    await this.#note(delivery, verdict);
    const settled = await deliveries.settle(delivery, verdict, attempt);
    log.debug({ ...factsOf(delivery), status, ms, error }, 'webhook attempt');
    if (settled === 'replaced') return undefined;
    if (settled === 'asked-again') return SOON_MS;
    return verdict.state === 'pending' ? verdict.againMs : this.#ended(delivery, verdict.state);
  }

  /** What all processes should know of the receiver. */
  async #note(delivery: StoredDelivery, { state, pauseMs }: Verdict): Promise<void> {
    const { receivers, closeAfterMs } = this.#options;
    if (pauseMs !== undefined) await receivers.pause(delivery, pauseMs);
    switch (state) {
      case 'delivered':
        return receivers.welcome(delivery);
      case 'gone':
        return receivers.close(delivery);
      case 'pending':
        await receivers.failed(delivery);
        return;
      case 'failed':
        if ((await receivers.failed(delivery)) > closeAfterMs) await receivers.close(delivery);
        return;
      default:
        return unreachable(state);
    }
  }

  /** Without an attempt. */
  async #end(delivery: StoredDelivery, state: 'gone'): Promise<number | undefined> {
    const settled = await this.#options.deliveries.settle(delivery, { state });
    return settled === 'asked-again' ? SOON_MS : this.#ended(delivery, state);
  }

  #ended(delivery: StoredDelivery, state: 'delivered' | 'failed' | 'gone'): undefined {
    const { metrics, log } = this.#options;
    metrics.webhookDeliveries.inc({ outcome: state });
    if (state === 'failed') log.warn(factsOf(delivery), 'webhook given up');
    if (state === 'gone') log.info(factsOf(delivery), 'webhook dropped: its receiver is gone');
  }
}

/** For the log. The rest of a URL may be a secret. */
const factsOf = ({ job, event, id, url }: StoredDelivery) => ({ job, event, id, host: hostOf(url) });

const outcomeOf = (reply: Reply): string =>
  'status' in reply ? `${Math.floor(reply.status / 100)}xx` : reply.fault;
