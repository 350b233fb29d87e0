/**
 * The queue of webhook deliveries. Unlike jobs they need no lane and no batch, so BullMQ's own Worker runs them: many at
 * once, each waiting for a receiver. The state of a delivery is in its own record; the queue only holds when to handle it.
 */
import { DelayedError, type Job, Queue, Worker } from 'bullmq';
import type { Clock } from '../clock.ts';
import type { JobId } from '../ids.ts';
import type { Log } from '../log.ts';
import type { Keys, Redis } from '../redis/index.ts';

export const DELIVERY_QUEUE = 'webhooks';

/** Holds no secrets: the queue is stored as plain text. */
export interface QueuedDelivery {
  readonly job: JobId;
  readonly event: string;
  /** The webhook id. */
  readonly id: string;
}

export class DeliveryQueue {
  readonly #queue: Queue<QueuedDelivery>;

  constructor(redis: Redis, keys: Keys) {
    this.#queue = new Queue(DELIVERY_QUEUE, {
      connection: redis,
      prefix: keys.prefix,
      skipVersionCheck: true,
      skipMetasUpdate: true,
    });
    this.#queue.on('error', () => {});
  }

  /** Queues a delivery to be handled now. A delivery that is queued already stays unchanged. */
  async add(name: string, delivery: QueuedDelivery): Promise<void> {
    // Finished entries are removed at once, so that the same delivery can be queued again.
    await this.#queue.add(DELIVERY_QUEUE, delivery, {
      jobId: name,
      removeOnComplete: true,
      removeOnFail: true,
    });
  }

  /** As `add`, but a delivery that waits for its next attempt is handled now. */
  async addNow(name: string, delivery: QueuedDelivery): Promise<void> {
    await this.add(name, delivery);
    const job = await this.#queue.getJob(name);
    // It fails when the delivery has left the delayed set meanwhile, which is what is wanted.
    if (await job?.isDelayed()) await job?.promote().catch(() => {});
  }
}

export interface DeliveryWorkerOptions {
  /** A connection of the role `blocking`, used by nothing else; BullMQ duplicates it for a second one. */
  readonly redis: Redis;
  readonly keys: Keys;
  readonly clock: Clock;
  readonly log: Log;
  /** Deliveries handled at once. */
  readonly concurrency: number;
  /** After this, a delivery of a process that died is handled by another one; renewed at half of it. */
  readonly leaseMs: number;
  readonly stalledCheckMs: number;
  /** Resolves with the ms until the next attempt; undefined when the delivery is finished. */
  readonly handle: (delivery: QueuedDelivery) => Promise<number | undefined>;
}

export class DeliveryWorker {
  readonly #options: DeliveryWorkerOptions;
  readonly #worker: Worker<QueuedDelivery>;

  constructor(options: DeliveryWorkerOptions) {
    this.#options = options;
    const { redis, keys, concurrency, leaseMs, stalledCheckMs, log } = options;
    this.#worker = new Worker(DELIVERY_QUEUE, (job, token) => this.#process(job, token), {
      connection: redis,
      prefix: keys.prefix,
      // BullMQ waits for fractions of a second only when it has checked the server's version.
      skipVersionCheck: false,
      autorun: false,
      concurrency,
      lockDuration: leaseMs,
      stalledInterval: stalledCheckMs,
      // The delivery's own schedule decides when to give up, not the number of processes that died with it.
      maxStalledCount: Number.MAX_SAFE_INTEGER,
      runRetryDelay: 1000,
    });
    this.#worker.on('error', (error) => log.warn({ error }, 'delivery queue error'));
    this.#worker.on('failed', (_, error) => log.error({ error }, 'handling a delivery failed'));
  }

  start(): void {
    this.#worker.run().catch((error) => this.#options.log.error({ error }, 'delivery queue stopped'));
  }

  /** Takes no more deliveries and waits at most `graceMs` for those being handled. */
  async stop(graceMs: number): Promise<void> {
    const closing = this.#worker.close().catch(() => {});
    const closed = new AbortController();
    await Promise.race([closing, this.#options.clock.sleep(graceMs, closed.signal)]);
    closed.abort();
  }

  async #process(job: Job<QueuedDelivery>, token: string | undefined): Promise<void> {
    const retryInMs = await this.#options.handle(job.data);
    if (retryInMs === undefined) return;
    await job.moveToDelayed(Date.now() + retryInMs, token);
    throw new DelayedError();
  }
}
