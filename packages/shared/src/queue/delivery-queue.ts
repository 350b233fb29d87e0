/**
 * The queue of webhook deliveries. Unlike jobs they need no lane and no batch, so BullMQ's own Worker takes them: many at
 * once, each waiting on a receiver. What is known of a delivery stands in its own record; the queue only says when to look.
 */
import { DelayedError, type Job, Queue, Worker } from 'bullmq';
import type { Clock } from '../clock.ts';
import type { JobId } from '../ids.ts';
import type { Log } from '../log.ts';
import type { Keys, Redis } from '../redis/index.ts';

export const DELIVERY_QUEUE = 'webhooks';

/** Nothing secret: the queue is plain text. */
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

  /** Queues a delivery to be looked at now. One that is queued already stays as it is. */
  async add(name: string, delivery: QueuedDelivery): Promise<void> {
    // Whatever ends leaves at once, so that the name is free again.
    await this.#queue.add(DELIVERY_QUEUE, delivery, {
      jobId: name,
      removeOnComplete: true,
      removeOnFail: true,
    });
  }

  /** As `add`; one that waits for its next attempt goes at once. */
  async hurry(name: string, delivery: QueuedDelivery): Promise<void> {
    await this.add(name, delivery);
    const job = await this.#queue.getJob(name);
    // It may have left the delayed ones since.
    if (await job?.isDelayed()) await job?.promote().catch(() => {});
  }
}

export interface DeliveryWorkerOptions {
  /** A connection of the role `blocking`, for this alone; a second one is made from it. */
  readonly redis: Redis;
  readonly keys: Keys;
  readonly clock: Clock;
  readonly log: Log;
  /** Deliveries under way at once. */
  readonly concurrency: number;
  /** How long a delivery stays with a process that went silent; renewed at half of it. */
  readonly leaseMs: number;
  readonly stalledCheckMs: number;
  /** Undefined when there is nothing more to do for this delivery, else after how many ms to look again. */
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
      // It asks for the server's version, and only then waits for less than a whole second.
      skipVersionCheck: false,
      autorun: false,
      concurrency,
      lockDuration: leaseMs,
      stalledInterval: stalledCheckMs,
      // A delivery ends by its own schedule; processes that die while they hold it do not end it.
      maxStalledCount: Number.MAX_SAFE_INTEGER,
      runRetryDelay: 1000,
    });
    this.#worker.on('error', (error) => log.warn({ error }, 'delivery queue'));
    this.#worker.on('failed', (_, error) => log.error({ error }, 'a delivery could not be worked on'));
  }

  start(): void {
    this.#worker.run().catch((error) => this.#options.log.error({ error }, 'delivery queue stopped'));
  }

  /** Takes no more deliveries and waits for those under way, but no longer than `graceMs`. */
  async stop(graceMs: number): Promise<void> {
    const closing = this.#worker.close().catch(() => {});
    const late = new AbortController();
    await Promise.race([closing, this.#options.clock.sleep(graceMs, late.signal)]);
    late.abort();
  }

  async #process(job: Job<QueuedDelivery>, token: string | undefined): Promise<void> {
    const againMs = await this.#options.handle(job.data);
    if (againMs === undefined) return;
    await job.moveToDelayed(Date.now() + againMs, token);
    throw new DelayedError();
  }
}
