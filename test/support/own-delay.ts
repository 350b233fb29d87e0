/** How long a thread's event loop was kept from turning by what the thread itself did. */
import { readFileSync } from 'node:fs';

const EVERY_MS = 5;

/**
 * Measures from now on, on the thread that calls it. Time in which the thread could have run but had no core is left
 * out (the kernel counts it): that is the doing of whatever else the machine runs. Returns the longest delay so far, in ms.
 */
export function measureOwnDelay(): () => number {
  let longestMs = 0;
  let [at, waitedMs] = [performance.now(), coreWaitMs()];
  const look = (): void => {
    const [nextAt, nextWaitedMs] = [performance.now(), coreWaitMs()];
    longestMs = Math.max(longestMs, nextAt - at - EVERY_MS - (nextWaitedMs - waitedMs));
    [at, waitedMs] = [nextAt, nextWaitedMs];
  };
  setInterval(look, EVERY_MS).unref();
  return () => longestMs;
}

/** What this thread waited for a core since it began; 0 where the kernel does not tell. */
function coreWaitMs(): number {
  try {
    // Nanoseconds on a core, nanoseconds waiting for one, times it got one.
    return Number(readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ')[1]) / 1e6;
  } catch {
    return 0;
  }
}
