/** A record as its owner sees it. */
import type { Clock, Job } from '@lehr/shared';
import { toObjectKey } from '@lehr/shared';
import type { ObjectStore } from '@lehr/shared/objects';
import type { GroupQueues } from '@lehr/shared/queue';
import { isTerminal, type JobRecord, type StoredImage } from '@lehr/shared/records';
import { etaMs } from './eta.ts';
import type { EventLinks } from './event-links.ts';
import { type FleetView, serving } from './fleet-view.ts';

export interface PresenterOptions {
  readonly queues: GroupQueues;
  readonly fleet: FleetView;
  readonly store: ObjectStore;
  readonly clock: Clock;
  /** Links are built from it. */
  readonly publicUrl: string;
  readonly linkTtlS: number;
  readonly eventLinks: EventLinks;
}

export class Presenter {
  readonly #options: PresenterOptions;
  readonly #base: string;

  constructor(options: PresenterOptions) {
    this.#options = options;
    this.#base = options.publicUrl.replace(/\/+$/, '');
  }

  /** An absolute link to a path of this API. */
  url(path: string): string {
    return `${this.#base}${path}`;
  }

  async job(record: JobRecord): Promise<Job> {
    const self = this.url(`/v1/jobs/${record.id}`);
    return {
      id: record.id,
      object: 'job',
      type: record.type,
      model: record.model,
      status: record.state,
      priority: record.priority,
      attempt: record.attempt,
      created_at: iso(record.created_at),
      started_at: 'started_at' in record ? isoOrNull(record.started_at) : null,
      finished_at: 'finished_at' in record ? iso(record.finished_at) : null,
      expires_at: 'expires_at' in record ? iso(record.expires_at) : null,
      deadline_at: isoOrNull(record.deadline_at),
      queue: await this.#place(record),
      progress: record.state === 'running' ? (record.progress ?? null) : null,
      input: record.input,
      output: record.state === 'succeeded' ? { images: await this.#images(record.output.images) } : null,
      error: record.state === 'failed' ? record.error : null,
      metrics: record.state === 'succeeded' ? record.metrics : null,
      webhook: record.webhook ? { url: record.webhook.url, events: record.webhook.events } : null,
      metadata: record.metadata,
      links: {
        self,
        events: `${self}/events`,
        events_signed: this.#options.eventLinks.to(record.id, record.created_at),
        cancel: `${self}/cancel`,
      },
    };
  }

  /** Null unless the job waits. */
  async #place(record: JobRecord): Promise<Job['queue']> {
    if (record.state !== 'queued') return null;
    const { queues, fleet } = this.#options;
    const [position, meanCostMs, workers] = await Promise.all([
      queues.of(record.queue).position(record.id),
      fleet.meanCostMs(record.queue),
      fleet.workers(),
    ]);
    // A worker claimed it since the record was read.
    if (position === undefined) return null;
    const lanes = workers.flatMap((worker) => worker.lanes).filter((lane) => lane.queue === record.queue);
    const eta = etaMs({
      position,
      costMs: record.cost,
      meanCostMs: meanCostMs ?? record.cost,
      workers: serving(workers, record.model).length,
      running: lanes.reduce((sum, lane) => sum + lane.samples, 0),
    });
    return { position, eta_ms: eta };
  }

  /** Each with a link of its own, signed now. */
  #images(images: readonly StoredImage[]): Promise<NonNullable<Job['output']>['images']> {
    const { store, clock, linkTtlS } = this.#options;
    // Rounded down: a link is never shown to live longer than it does.
    const expiresAt = iso(Math.floor(clock.now() / 1000) * 1000 + linkTtlS * 1000);
    return Promise.all(
      images.map(async ({ key, ...image }) => ({
        url: await store.link(toObjectKey(key), { expiresInS: linkTtlS }),
        ...image,
        expires_at: expiresAt,
      })),
    );
  }
}

/** The job's version: rises with every change of its record. */
export const etagOf = (record: JobRecord): string => `"${record.rev}"`;

export const isOver = (record: JobRecord): boolean => isTerminal(record.state);

const iso = (ms: number): string => new Date(ms).toISOString();
const isoOrNull = (ms: number | undefined): string | null => (ms === undefined ? null : iso(ms));
