import type { Clock } from '../../packages/shared/src/index.ts';

export interface ManualClock extends Clock {
  /** Advances the clock to the end of each next sleep until the promise settles. */
  until<T>(promise: Promise<T>): Promise<T>;
}

/** A clock that advances only when `until` ends a sleep, so that durations are exact. */
export function manualClock(): ManualClock {
  let now = 0;
  const sleepers = new Map<() => void, number>();
  return {
    now: () => now,
    monotonic: () => now,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        const wake = (): void => {
          sleepers.delete(wake);
          signal?.removeEventListener('abort', wake);
          resolve();
        };
        if (signal?.aborted) return resolve();
        signal?.addEventListener('abort', wake);
        sleepers.set(wake, now + ms);
      }),
    until: async (promise) => {
      let settled = false;
      const settle = (): void => {
        settled = true;
      };
      promise.then(settle, settle);
      while (!settled) {
        const [next] = [...sleepers].sort(([, a], [, b]) => a - b);
        if (next) {
          now = Math.max(now, next[1]);
          next[0]();
        }
        await new Promise((resolve) => setImmediate(resolve));
      }
      return promise;
    },
  };
}
