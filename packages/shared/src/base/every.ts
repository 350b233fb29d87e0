/** The loop of work that a process does again and again. */
import type { Clock } from './clock.ts';
import type { Log } from './log.ts';

export interface EveryOptions {
  readonly clock: Pick<Clock, 'sleep'>;
  readonly log: Pick<Log, 'warn'>;
  /** What the log says when the work fails; it is done again all the same. */
  readonly failed: string;
  /** The time before the first round; without it, `everyMs`. */
  readonly firstMs?: number;
}

/**
 * Does `work`, again `everyMs` after its end, and so on. Returns a function that aborts the signal of the work and resolves when the
 * work under way has ended.
 */
export function every(
  everyMs: number,
  work: (signal: AbortSignal) => Promise<unknown>,
  { clock, log, failed, firstMs = everyMs }: EveryOptions,
): () => Promise<void> {
  const stop = new AbortController();
  const { signal } = stop;
  const rounds = (async () => {
    for (let pauseMs = firstMs; ; pauseMs = everyMs) {
      await clock.sleep(pauseMs, signal);
      if (signal.aborted) return;
      try {
        await work(signal);
      } catch (error) {
        log.warn({ error }, failed);
      }
    }
  })();
  return async () => {
    stop.abort();
    await rounds;
  };
}
