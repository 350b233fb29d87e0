/** When a failed call is retried. */
import type { LehrError } from './lehr-error.ts';

export interface RetryPolicy {
  /** Attempts after the first one. */
  readonly maxRetries: number;
  /** The first delay; each later one is twice as long. */
  readonly firstDelayMs: number;
  readonly maxDelayMs: number;
  /** A call is not retried when `Retry-After` is longer than this. */
  readonly maxRetryAfterMs: number;
}

export const RETRY_POLICY: RetryPolicy = {
  maxRetries: 6,
  firstDelayMs: 250,
  maxDelayMs: 8_000,
  maxRetryAfterMs: 60_000,
};

/** Temporary refusals. A 500 is not one of them: it is a fault that a retry would meet again. */
const TEMPORARY: readonly (number | undefined)[] = [408, 429, 502, 503, 504];

/**
 * Returns the delay in ms before attempt `attempt + 1`, or undefined when the call is not retried. `attempt` counts from 1.
 * `Retry-After` decides the delay where the server sends it; otherwise the backoff is exponential, with a jitter of a quarter, so
 * that the clients of one outage do not all retry at the same time.
 */
export function retryDelayMs(
  error: LehrError,
  attempt: number,
  policy: RetryPolicy = RETRY_POLICY,
  random: () => number = Math.random,
): number | undefined {
  if (attempt > policy.maxRetries) return undefined;
  const isTemporary =
    error.status === undefined ? error.code === 'connection-failed' : TEMPORARY.includes(error.status);
  if (!isTemporary) return undefined;
  const { retryAfterMs } = error;
  if (retryAfterMs !== undefined) return retryAfterMs <= policy.maxRetryAfterMs ? retryAfterMs : undefined;
  const delay = Math.min(policy.firstDelayMs * 2 ** (attempt - 1), policy.maxDelayMs);
  return delay * (0.75 + random() / 2);
}

/** Resolves after `ms`. Rejects with the signal's reason when the signal aborts. */
export async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
  // A timer counts whole milliseconds and may fire a fraction early: too early for a server that checks Retry-After.
  const wholeMs = Math.ceil(ms) + 1;
  await new Promise<void>((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, wholeMs);
    signal?.addEventListener('abort', stop, { once: true });
  });
}
