/** The keys of what is kept to make or change jobs later: batches, schedules and bulk actions. */
import type { BatchId, TenantId } from '../base/ids.ts';

export interface KeptKeys {
  /** A batch: its facts, its counters, and its slices that are not collected. */
  batch(id: BatchId): string;
  /** Ids of batches that have not ended, by when a process works on them next. */
  readonly batchesDue: string;
  /** Ids of a tenant's batches, in order of id; and of those that have not ended. */
  batchesOf(tenant: TenantId): string;
  openBatchesOf(tenant: TenantId): string;
  /** A schedule; the last runs of it, newest first; ids of those that make jobs, by when they are due; ids of a tenant's. */
  schedule(id: string): string;
  scheduleRuns(id: string): string;
  readonly schedulesDue: string;
  schedulesOf(tenant: TenantId): string;
  /** An action on many jobs; ids of those that have not ended, by when a process works on them next; a tenant's, all and unended. */
  jobAction(id: string): string;
  readonly jobActionsDue: string;
  jobActionsOf(tenant: TenantId): string;
  openJobActionsOf(tenant: TenantId): string;
}

export const keptKeys = (prefix: string): KeptKeys => ({
  batch: (id) => `${prefix}:batch:${id}`,
  batchesDue: `${prefix}:batches-due`,
  batchesOf: (tenant) => `${prefix}:batches-of:${tenant}`,
  openBatchesOf: (tenant) => `${prefix}:batches-open:${tenant}`,
  schedule: (id) => `${prefix}:schedule:${id}`,
  scheduleRuns: (id) => `${prefix}:schedule-runs:${id}`,
  schedulesDue: `${prefix}:schedules-due`,
  schedulesOf: (tenant) => `${prefix}:schedules-of:${tenant}`,
  jobAction: (id) => `${prefix}:job-action:${id}`,
  jobActionsDue: `${prefix}:job-actions-due`,
  jobActionsOf: (tenant) => `${prefix}:job-actions-of:${tenant}`,
  openJobActionsOf: (tenant) => `${prefix}:job-actions-open:${tenant}`,
});
