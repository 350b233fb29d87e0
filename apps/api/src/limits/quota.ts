/** What a caller may still ask for, as it stands in the answers. */
import { LehrError } from '@lehr/shared';

export interface Quota {
  readonly limit: number;
  readonly remaining: number;
  /** Seconds until all of it is there again; of a refusal, until some is. */
  readonly resetS: number;
  /** What is counted, and in how many seconds; absent when it is no matter of time. */
  readonly policy?: { readonly unit: string; readonly windowS: number };
}

/** `rate-limited`, with the quota that was used up. */
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

/** Clients drop a Retry-After of more than a minute and come back at once. */
const MAX_RETRY_S = 60;
/** Those that were refused together do not come back together. */
const SPREAD = 1.25;

/** Whole seconds for Retry-After: `seconds` and up to a quarter more, at most 60. */
export function jitteredRetryAfterS(seconds: number): number {
  const least = Math.min(Math.max(Math.ceil(seconds), 1), MAX_RETRY_S / SPREAD);
  return Math.min(MAX_RETRY_S, Math.floor(least + Math.random() * (1 + least * (SPREAD - 1))));
}

/** Whole seconds for Retry-After of a server that is too busy: from 1 up to `seconds`, at most 60. */
export function randomRetryAfterS(seconds: number): number {
  return 1 + Math.floor(Math.random() * Math.min(Math.max(Math.ceil(seconds), 1), MAX_RETRY_S));
}
