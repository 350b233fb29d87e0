/**
 * Every key Lehr writes in Redis besides BullMQ's own. All carry one hash tag, so that scripts may touch several of
 * them on a Redis Cluster too (one slot: Cluster gives no scale-out here).
 */
import type { JobId, TenantId, WorkerId } from '../ids.ts';

export interface Keys {
  /** Also BullMQ's key prefix. */
  readonly prefix: string;
  record(id: JobId): string;
  events(id: JobId): string;
  /** Ids of all jobs without an end, scored by creation time. */
  readonly live: string;
  liveOf(tenant: TenantId): string;
  /** Ids of jobs with a deadline and no end, scored by it. */
  readonly deadlines: string;
  /** Every job of a tenant, ordered by id and so by time. */
  jobsOf(tenant: TenantId): string;
  /** Names of all group queues ever used; also the channel that announces a new one. */
  readonly groups: string;
  /** Estimated engine ms that wait in a group, by priority class. */
  load(queue: string): string;
  /** Fair queueing of a group: per class its turn, per class and tenant where it stands. */
  fair(queue: string): string;
  idempotency(hash: string): string;
  /** Tenants of admitted jobs whose record is not written yet, by job id. */
  readonly reserved: string;
  /** Events somebody asked to be told of and that are not queued for delivery yet: `<job id> <event>`, by time. */
  readonly outbox: string;
  /** Jobs made of jobs that may have a next node to start or an end to write, by when that was noticed. */
  readonly graphs: string;
  /** Channel: the record of this job changed. */
  changed(id: JobId): string;
  /** Exists while somebody follows the job live. */
  watched(id: JobId): string;
  /** The newest preview of a running job; also the channel that announces the next one. */
  preview(id: JobId): string;
  /** Channel: this worker should cancel a job it runs. */
  cancel(worker: WorkerId): string;
  /** A worker's private marker: adding to it ends the worker's blocking wait. */
  wake(worker: WorkerId): string;
  worker(id: WorkerId): string;
  /** Ids of workers that have reported. */
  readonly workers: string;
  /** Held by the one process that runs the janitor. */
  readonly janitor: string;
  /** Written by readiness checks. */
  readonly probe: string;
}

export function keysOf(namespace: string): Keys {
  const prefix = `{${namespace}}`;
  return {
    prefix,
    record: (id) => `${prefix}:record:${id}`,
    events: (id) => `${prefix}:events:${id}`,
    live: `${prefix}:live`,
    liveOf: (tenant) => `${prefix}:live:${tenant}`,
    deadlines: `${prefix}:deadlines`,
    jobsOf: (tenant) => `${prefix}:jobs:${tenant}`,
    groups: `${prefix}:groups`,
    load: (queue) => `${prefix}:load:${queue}`,
    fair: (queue) => `${prefix}:fair:${queue}`,
    idempotency: (hash) => `${prefix}:idem:${hash}`,
    reserved: `${prefix}:reserved`,
    outbox: `${prefix}:outbox`,
    graphs: `${prefix}:graphs`,
    changed: (id) => `${prefix}:changed:${id}`,
    watched: (id) => `${prefix}:watched:${id}`,
    preview: (id) => `${prefix}:preview:${id}`,
    cancel: (worker) => `${prefix}:cancel:${worker}`,
    wake: (worker) => `${prefix}:wake:${worker}`,
    worker: (id) => `${prefix}:worker:${id}`,
    workers: `${prefix}:workers`,
    janitor: `${prefix}:janitor`,
    probe: `${prefix}:probe`,
  };
}
