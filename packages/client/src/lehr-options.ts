/** The options of the client and of its calls. */
import type { LehrError } from './lehr-error.ts';
import type { CallOptions } from './transport.ts';
import type { AuditFilter, ChartFilter, Job, JobFilter, JobOutputs, UsageFilter } from './wire.ts';

export interface LehrOptions {
  /** The address of Lehr, such as `https://lehr.example`. */
  readonly url: string;
  readonly apiKey?: string | undefined;
  /** Attempts after the first one, for idempotent calls. Default: 6. */
  readonly maxRetries?: number | undefined;
  /** A call fails instead of waiting when `Retry-After` is longer than this. Default: 60 s. */
  readonly maxRetryAfterMs?: number | undefined;
  /** An attempt fails when the server sends nothing for this long, plus the hold of a held answer. Default: 30 s. */
  readonly timeoutMs?: number | undefined;
  readonly fetch?: typeof fetch | undefined;
  /** Called for each failed attempt that is followed by another one. */
  readonly onRetry?: ((error: LehrError) => void) | undefined;
}

export interface SubmitOptions extends CallOptions {
  /** Wait until the job has ended, in whatever state. */
  readonly wait?: boolean | undefined;
  /** With `wait`: the longest wait, after which the call throws LehrError `timed-out`. The job continues. */
  readonly timeoutMs?: number | undefined;
  /**
   * A second request with the same key and body returns the same job, also from another process. Default: a random key; none for a
   * request that waits and has `durability: 'none'`, whose retry makes a new job.
   */
  readonly idempotencyKey?: string | undefined;
}

/** `range`: how far back. */
export interface ChartOptions extends CallOptions, ChartFilter {}

/** `from` and `to`: days in UTC; `by`: parts such as `day,model`. */
export interface UsageOptions extends CallOptions, UsageFilter {}

export interface RetryOptions extends CallOptions {
  /** A second retry of the job with the same key returns the same new job. Default: a random key. */
  readonly idempotencyKey?: string | undefined;
}

export interface WaitOptions extends CallOptions {
  /** The longest wait, after which the call throws LehrError `timed-out`. The job continues. Default: no limit. */
  readonly timeoutMs?: number | undefined;
}

export interface UploadOptions extends CallOptions {
  /** A name for people. It does not decide how the file is read. */
  readonly name?: string | undefined;
}

export type ListOptions = CallOptions & Omit<JobFilter, 'cursor'>;
export type PageOptions = CallOptions & JobFilter;
export type AuditOptions = CallOptions & Omit<AuditFilter, 'cursor'>;
export type SucceededJob = Job & { readonly status: 'succeeded'; readonly output: JobOutputs };
