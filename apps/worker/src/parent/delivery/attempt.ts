/** What delivery needs to know of a job's attempt. JobRun (runs/job-run.ts) implements it. */
import type { LeaseToken, PlainError } from '@lehr/shared';
import type { Claim } from '@lehr/shared/queue';
import type { JobRecord, Move } from '@lehr/shared/records';

/** Why an attempt stops before it is done. */
export type StopReason =
  | { readonly kind: 'canceled' }
  | { readonly kind: 'expired' }
  | ({ readonly kind: 'failed' } & PlainError)
  /** Goes back to its queue for another worker: this one is draining. */
  | { readonly kind: 'handed-back' }
  /** The lease is gone and another worker may have the job: nothing may be written. */
  | { readonly kind: 'lost' };

export interface Attempt {
  readonly claim: Claim;
  readonly record: JobRecord;
  readonly lease: LeaseToken;
  /** Aborts the work of this attempt outside the engine. */
  readonly signal: AbortSignal;
  /** The common prefix of the outputs of all attempts of this job. */
  readonly outputFolder: string;
  /** What the job really cost, estimated engine ms, once that is known and where it was not charged before. */
  readonly realCostMs: number | undefined;
  /** The fields that `succeed` writes into the record, once the job is done. */
  successFields(worker: string): Move['fields'];
}
