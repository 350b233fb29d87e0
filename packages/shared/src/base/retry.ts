/** Exponential backoff, and attempts that are repeated with it. */
import type { Clock } from './clock.ts';

export interface Backoff {
  /** The pause after the first failure, ms; each further one is twice as long. */
  readonly firstMs: number;
  readonly maxMs: number;
}

/** The pause after `failures` (1 or more) in a row, ms. */
export const backoffMs = ({ firstMs, maxMs }: Backoff, failures: number): number =>
  Math.min(firstMs * 2 ** (failures - 1), maxMs);

/** Between half of the pause and all of it: what failed together must not be tried again together. */
export const withJitter = (ms: number): number => Math.round(ms * (0.5 + Math.random() / 2));

export interface RetryOptions extends Backoff {
  readonly clock: Pick<Clock, 'sleep'>;
  /** Ends a pause; the next attempt is made at once, and should fail. */
  readonly signal?: AbortSignal;
  /** Called after each failure. Another attempt is made after `pauseMs`, unless this throws. */
  readonly onFailure: (error: unknown, pauseMs: number) => void | Promise<void>;
}

/** Makes attempts until one succeeds. */
export async function retry<T>(
  attempt: () => Promise<T>,
  { clock, signal, onFailure, ...backoff }: RetryOptions,
): Promise<T> {
  for (let failures = 1; ; failures++) {
    try {
      return await attempt();
    } catch (error) {
      const pauseMs = withJitter(backoffMs(backoff, failures));
      await onFailure(error, pauseMs);
      await clock.sleep(pauseMs, signal);
    }
  }
}
