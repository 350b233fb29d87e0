/** Rate limit headers, and Retry-After values with jitter. */
import { LehrError } from '@lehr/shared';

export interface Quota {
  readonly limit: number;
  readonly remaining: number;
  /** Seconds until the quota is full again; for a refusal, until some of it is available. */
  readonly resetS: number;
  /** The unit that is counted and its window; absent for a limit without a window. */
  readonly policy?: { readonly unit: string; readonly windowS: number };
}

/** `rate-limited`, with the quota that is used up. */
export class QuotaError extends LehrError {
  readonly quota: Quota;

  constructor(message: string, quota: Quota) {
    super('rate-limited', message, { retryAfterS: jitteredRetryAfterS(quota.resetS) });
    this.quota = quota;
  }
}

/** draft-ietf-httpapi-ratelimit-headers-06. */
export function quotaHeaders({ limit, remaining, resetS, policy }: Quota): Record<string, string> {
  return {
    'ratelimit-limit': String(limit),
    'ratelimit-remaining': String(remaining),
    'ratelimit-reset': String(resetS),
    ...(policy && { 'ratelimit-policy': `${limit};w=${policy.windowS};comment="${policy.unit}"` }),
  };
}

/** Some clients ignore a Retry-After of more than a minute and retry at once. */
const MAX_RETRY_S = 60;
/** Requests that were refused together are not retried together. */
const JITTER = 1.25;

/** Whole seconds for Retry-After: `seconds` and up to a quarter more, at most 60. */
export function jitteredRetryAfterS(seconds: number): number {
  const least = Math.min(Math.max(Math.ceil(seconds), 1), MAX_RETRY_S / JITTER);
  return Math.min(MAX_RETRY_S, Math.floor(least + Math.random() * (1 + least * (JITTER - 1))));
}

/** Whole seconds for the Retry-After of a busy server: random from 1 to `seconds`, at most 60. */
export function randomRetryAfterS(seconds: number): number {
  return 1 + Math.floor(Math.random() * Math.min(Math.max(Math.ceil(seconds), 1), MAX_RETRY_S));
}
