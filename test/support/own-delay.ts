/** How long a thread's event loop was kept from turning by what the thread itself did. */
import { readFileSync } from 'node:fs';

const EVERY_MS = 5;

/**
 * Measures from now on, on the thread that calls it. Time in which the thread could have run but had no core, or its core was
 * lent to another machine, is left out (the kernel counts both): that is the doing of others. Returns the longest delay so
 * far, in ms.
 */
export function measureOwnDelay(): () => number {
  let longestMs = 0;
  let [at, waitedMs] = [performance.now(), coreWaitMs() + stolenMs()];
  const look = (): void => {
    const [nextAt, nextWaitedMs] = [performance.now(), coreWaitMs() + stolenMs()];
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

const TICK_MS = 10;

/** What a host took from all cores of this virtual machine since it started; 0 where the kernel does not tell. */
function stolenMs(): number {
  try {
    // cpu user nice system idle iowait irq softirq steal
    return Number(readFileSync('/proc/stat', 'utf8').split(/\s+/, 9)[8]) * TICK_MS;
  } catch {
    return 0;
  }
}
