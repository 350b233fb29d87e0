/** When to make a call again, and when to give up. */
import type { LehrError } from './lehr-error.ts';

export interface RetryPolicy {
  /** Calls after the first one. */
  readonly maxRetries: number;
  /** The first pause; each later one is twice as long. */
  readonly firstDelayMs: number;
  readonly maxDelayMs: number;
  /** A server that asks for more than this is not waited for. */
  readonly maxRetryAfterMs: number;
}

export const RETRY_POLICY: RetryPolicy = {
  maxRetries: 6,
  firstDelayMs: 250,
  maxDelayMs: 8_000,
  maxRetryAfterMs: 60_000,
};

/** A refusal that will pass, or no answer at all. A 500 is a fault that would come again. */
const PASSING: readonly (number | undefined)[] = [408, 429, 502, 503, 504];

/**
 * The pause in ms before try `attempt + 1`, counted from 1, or undefined to give up. `Retry-After` is obeyed; other pauses
 * double and are spread by a quarter, so that clients of one outage do not come back together.
 */
export function retryDelayMs(
  error: LehrError,
  attempt: number,
  policy: RetryPolicy = RETRY_POLICY,
  random: () => number = Math.random,
): number | undefined {
  if (attempt > policy.maxRetries) return undefined;
  const passes =
    error.status === undefined ? error.code === 'connection-failed' : PASSING.includes(error.status);
  if (!passes) return undefined;
  const { retryAfterMs } = error;
  if (retryAfterMs !== undefined) return retryAfterMs <= policy.maxRetryAfterMs ? retryAfterMs : undefined;
  const delay = Math.min(policy.firstDelayMs * 2 ** (attempt - 1), policy.maxDelayMs);
  return delay * (0.75 + random() / 2);
}

/** Rejects with the signal's reason when it aborts. */
export async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
  // Timers go by whole milliseconds, and may be early by a part of one: too early for a strict server.
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
