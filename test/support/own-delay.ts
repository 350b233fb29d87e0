/** How long the event loop of a thread was blocked by the thread itself. */
import { readFileSync } from 'node:fs';

const EVERY_MS = 5;

/**
 * Measures from now on, on the calling thread. A delay counts at most the time that the thread ran in it, so that the other work of the
 * machine is left out: a thread that computes for too long is found, one that waits for a core is not charged. Time in which the host took
 * its core (steal), or in which the event loop waited for events, is left out too. Returns a function that gives the longest delay so far,
 * in ms, and forgets it when asked to.
 */
export function measureOwnDelay(): (options?: { readonly forget: boolean }) => number {
  let longestMs = 0;
  let [at, ran, stolen, loop] = [performance.now(), ranMs(), stolenMs(), performance.eventLoopUtilization()];
  const measure = (): void => {
    const [nextAt, nextRan, nextStolen] = [performance.now(), ranMs(), stolenMs()];
    const nextLoop = performance.eventLoopUtilization();
    const delayMs = Math.min(nextAt - at - EVERY_MS, nextLoop.active - loop.active) - (nextStolen - stolen);
    longestMs = Math.max(longestMs, Math.min(delayMs, nextRan - ran));
    [at, ran, stolen, loop] = [nextAt, nextRan, nextStolen, nextLoop];
  };
  setInterval(measure, EVERY_MS).unref();
  return ({ forget } = { forget: false }) => {
    const delayMs = longestMs;
    if (forget) longestMs = 0;
    return delayMs;
  };
}

/** How long this thread has had a core since its start; without limit where the kernel has no such file. */
function ranMs(): number {
  try {
    return Number(readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ')[0]) / 1e6;
  } catch {
    return performance.now();
  }
}

const TICK_MS = 10;

/** The steal time of all cores of this virtual machine since its start; 0 where the kernel has no such file. */
function stolenMs(): number {
  try {
    // cpu user nice system idle iowait irq softirq steal
    return Number(readFileSync('/proc/stat', 'utf8').split(/\s+/, 9)[8]) * TICK_MS;
  } catch {
    return 0;
  }
}
