/** Presents a record as the API's job. */
import { hash } from 'node:crypto';
import type { Job } from '@lehr/shared';
import type { GroupQueues } from '@lehr/shared/queue';
import {
  isTerminal,
  type JobOutline,
  type JobRecord,
  type RecordStore,
  toJobError,
} from '@lehr/shared/records';
import type { Backlog } from '../fleet/backlog.ts';
import type { ExpectedWorkers } from '../fleet/expected-workers.ts';
import type { FleetView } from '../fleet/fleet-view.ts';
import type { EventLinks } from '../follow/event-links.ts';
import { presentInput, presentNodes, progressOf } from './present-nodes.ts';
import { OutputPresenter, type OutputPresenterOptions } from './present-output.ts';

interface PresenterOptions extends OutputPresenterOptions {
  readonly queues: GroupQueues;
  readonly records: RecordStore;
  readonly fleet: FleetView;
  readonly backlog: Pick<Backlog, 'ahead' | 'isPaused'>;
  readonly expected: ExpectedWorkers;
  /** Base of all links. */
  readonly publicUrl: string;
  readonly eventLinks: EventLinks;
}

export class Presenter {
  readonly #options: PresenterOptions;
  readonly #base: string;
  readonly #outputs: OutputPresenter;

  constructor(options: PresenterOptions) {
    this.#options = options;
    this.#outputs = new OutputPresenter(options);
    this.#base = options.publicUrl.replace(/\/+$/, '');
  }

  /** An absolute link to a path of this API. */
  url(path: string): string {
    return `${this.#base}${path}`;
  }

  /** `brief`, for lists, leaves out what must be read from the store. `position` in its queue is read unless it is given. */
  async job(
    record: JobRecord,
    { brief = false, position }: { readonly brief?: boolean; readonly position?: number | undefined } = {},
  ): Promise<Job> {
    const self = this.url(`/v1/jobs/${record.id}`);
    const { workflow } = record;
    const nodeRecords = workflow
      ? (await this.#options.records.outlines(workflow.nodes.map(({ job }) => job))).records
      : [];
    const nodes = workflow && (await presentNodes(record, workflow, nodeRecords, this.#outputs));
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
      ...(record.run_at !== undefined && { run_at: iso(record.run_at) }),
      ...(await this.#limits(record)),
      queue: await this.#place(record, nodeRecords, position),
      progress: progressNow(record, nodes),
      input: presentInput(record, (path) => this.url(path)),
      output: record.state === 'succeeded' ? await this.#outputs.outputs(record.output, brief) : null,
      error: record.state === 'failed' ? toJobError(record.error) : null,
      metrics: record.state === 'succeeded' ? record.metrics : null,
      webhook: record.webhook ? { url: record.webhook.url, events: record.webhook.events } : null,
      metadata: record.metadata,
      ...(nodes && { nodes }),
      ...(record.retried_from !== undefined && { retried_from: record.retried_from }),
      links: {
        self,
        events: `${self}/events`,
        events_signed: this.#options.eventLinks.to(record.id, record.created_at),
        cancel: `${self}/cancel`,
      },
    };
  }

  /**
   * The version of what is shown of a job. It changes with the record, and with what changes without it: the place in the queue, nodes,
   * and the links. It lasts a quarter of their time to live, so that an answer that is still current has links that work. It is weak,
   * because links are signed anew for each answer.
   */
  etag({ rev, created_at }: JobRecord, { queue, nodes }: Job): string {
    const { clock, linkTtlS } = this.#options;
    const age = Math.floor((clock.now() - created_at) / (linkTtlS * 250));
    const others = JSON.stringify([queue, nodes?.map(({ output: _, ...node }) => node)]);
    return `W/"${rev}-${age}-${hash('sha256', others, 'base64url').slice(0, 16)}"`;
  }

  /** What the caller lets run at once, and what keeps the job from its turn. */
  async #limits(record: JobOutline): Promise<Pick<Job, 'concurrency' | 'waits_for'>> {
    const { state, model, tenant, parked, workflow, concurrency = workflow?.concurrency } = record;
    const own = concurrency && { concurrency };
    if (state !== 'queued') return { ...own };
    if (parked !== undefined) return { ...own, waits_for: parked === tenant ? 'tenant' : 'concurrency' };
    return { ...own, ...((await this.#options.backlog.isPaused(model)) && { waits_for: 'model' as const }) };
  }

  /** Null unless the job waits; for a workflow, the place of its first waiting node. */
  async #place(
    record: JobOutline,
    nodes: readonly (JobOutline | undefined)[] = [],
    known?: number,
  ): Promise<Job['queue']> {
    if (record.state !== 'queued') return null;
    if (record.workflow) {
      const first = nodes.find((node) => node?.state === 'queued');
      return first ? this.#place(first) : null;
    }
    const { queues, fleet } = this.#options;
    const position = known ?? (await queues.of(record.queue).position(record.id));
    const meanCostMs = await fleet.meanCostMs(record.queue);
    const ahead = await this.#options.backlog.ahead(record.queue, record.model, record.priority);
    // A worker claimed it since the record was read.
    if (position === undefined) return null;
    // Nobody knows when a pause ends.
    if (await this.#options.backlog.isPaused(record.model)) return { position, eta_ms: null };
    const expected = ahead.workers === 0 ? await this.#options.expected.of(record.model) : undefined;
    const eta = etaMs({
      position,
      costMs: record.cost,
      meanCostMs: meanCostMs ?? record.cost,
      ...ahead,
      workers: expected?.workers ?? ahead.workers,
    });
    if (!expected) return { position, eta_ms: eta };
    const { readyInMs } = expected;
    return { position, eta_ms: eta === null ? null : eta + readyInMs, worker_in_ms: readyInMs };
  }
}

function progressNow(record: JobRecord, nodes: Job['nodes']): Job['progress'] {
  if (record.state !== 'running') return null;
  return nodes ? progressOf(nodes) : (record.progress ?? null);
}

export const isOver = (record: JobOutline): boolean => isTerminal(record.state);

const iso = (ms: number): string => new Date(ms).toISOString();
const isoOrNull = (ms: number | undefined): string | null => (ms === undefined ? null : iso(ms));

interface WaitingJob {
  /** Position in the group's queue, from 1. */
  readonly position: number;
  /** Estimated engine ms of the job, and the mean of the jobs ahead of it. */
  readonly costMs: number;
  readonly meanCostMs: number;
  /** Live workers that serve the group. The costs are priced with their measured speed. */
  readonly workers: number;
  /** As of Ahead: what runs on these workers, and what waits in other groups of them. */
  readonly elsewhereMs: number;
  readonly elsewhereGroups: number;
}

/**
 * Ms from now; null when no worker serves the group. Work elsewhere counts as at admission (fair-wait.lua): each other group or lane takes
 * at most as much time as the group of the job, because lanes run side by side.
 */
export function etaMs(job: WaitingJob): number | null {
  const { position, costMs, meanCostMs, workers, elsewhereMs, elsewhereGroups } = job;
  if (workers === 0) return null;
  const aheadMs = (position - 1) * meanCostMs;
  const elsewhere = Math.min(elsewhereMs, elsewhereGroups * (aheadMs + costMs));
  return Math.round((aheadMs + elsewhere) / workers + costMs);
}
