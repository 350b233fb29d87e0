/**
 * Renews all leases of this worker together: one timer, one command per group with claimed jobs.
 *
 * A renewal that throws does not mean a lost lease: Redis may be full or unreachable for a moment, and a job that ends
 * within its lease still counts (measured: at maxmemory every renewal fails and moveToCompleted still works). A lease is
 * lost only when Redis answers that it is gone.
 */
import type { JobId } from '../base/ids.ts';
import type { Log } from '../base/log.ts';
import type { Lease } from './group-queue.ts';
import type { GroupQueues } from './group-queues.ts';

export interface LeasesOptions {
  readonly queues: GroupQueues;
  readonly log: Log;
  readonly renewEveryMs: number;
  /** The job may belong to another worker now: stop its run and write nothing for it. */
  readonly onLost: (lease: Lease) => void;
  /** Called after every renewal that succeeded. */
  readonly onRenewed?: () => void;
}

export class Leases {
  readonly #options: LeasesOptions;
  readonly #held = new Map<JobId, Lease>();
  /** Those of jobs whose ends are being written. */
  readonly #closing = new Set<Lease>();
  #timer: NodeJS.Timeout | undefined;
  /** The renewal under way; the next call joins it, so that renewals do not pile up behind a slow Redis. */
  #renewing: Promise<void> | undefined;

  constructor(options: LeasesOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#held.size;
  }

  get jobs(): readonly JobId[] {
    return [...this.#held.keys()];
  }

  start(): void {
    this.#timer ??= setInterval(() => void this.renew(), this.#options.renewEveryMs);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  add(lease: Lease): void {
    const earlier = this.#held.get(lease.jobId);
    this.#held.set(lease.jobId, lease);
    // A job has one lease at a time, so a second claim proves that the earlier lease was lost, or that the job was handed back.
    if (earlier && !this.#closing.has(earlier)) this.#lost(earlier);
  }

  /** The end of the job is being written: its lease is renewed as before, but only that write tells whether it was lost. */
  close(lease: Lease): void {
    this.#closing.add(lease);
  }

  /** Does nothing when a later lease of the job is held. */
  remove(lease: Lease): void {
    this.#closing.delete(lease);
    if (this.#held.get(lease.jobId)?.token === lease.token) this.#held.delete(lease.jobId);
  }

  /** Renews all leases now. Never rejects. */
  renew(): Promise<void> {
    this.#renewing ??= this.#renewAll().finally(() => {
      this.#renewing = undefined;
    });
    return this.#renewing;
  }

  async #renewAll(): Promise<void> {
    const byQueue = new Map<string, Lease[]>();
    for (const lease of this.#held.values()) {
      byQueue.set(lease.queue, [...(byQueue.get(lease.queue) ?? []), lease]);
    }
    try {
      await Promise.all(
        [...byQueue].map(async ([queue, leases]) => {
          const lost = await this.#options.queues.of(queue).renew(leases);
          for (const jobId of lost) this.#drop(leases.find((lease) => lease.jobId === jobId));
        }),
      );
      this.#options.onRenewed?.();
    } catch (error) {
      this.#options.log.warn({ error, leases: this.#held.size }, 'leases could not be renewed; trying again');
    }
  }

  #drop(lease: Lease | undefined): void {
    // The job may have ended during the renewal; then no lease was lost.
    if (!lease || this.#held.get(lease.jobId) !== lease || this.#closing.has(lease)) return;
    this.#held.delete(lease.jobId);
    this.#lost(lease);
  }

  #lost(lease: Lease): void {
    this.#options.log.warn({ job: lease.jobId, queue: lease.queue }, 'lease lost');
    this.#options.onLost(lease);
  }
}
