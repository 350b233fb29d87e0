/** How long the event loop of a thread was blocked by the thread itself. */
import { readFileSync } from 'node:fs';

const EVERY_MS = 5;

/**
 * Measures from now on, on the calling thread. Time in which the thread was ready but had no core, or in which the host took its
 * core (steal), is left out; the kernel counts both. A host may also stop a core without counting it: time in which the event loop
 * waited for events is left out, and a thread that kept its core for the whole interval is charged at most the time that it ran.
 * Returns a function that gives the longest delay so far, in ms,
 * and forgets it when asked to.
 */
export function measureOwnDelay(): (options?: { readonly forget: boolean }) => number {
  let longestMs = 0;
  let [at, core, stolen, loop] = [
    performance.now(),
    coreTimes(),
    stolenMs(),
    performance.eventLoopUtilization(),
  ];
  const measure = (): void => {
    const [nextAt, nextCore, nextStolen] = [performance.now(), coreTimes(), stolenMs()];
    const nextLoop = performance.eventLoopUtilization();
    const notOwnMs = nextCore.waitedMs - core.waitedMs + (nextStolen - stolen);
    const delayMs = Math.min(nextAt - at - EVERY_MS, nextLoop.active - loop.active) - notOwnMs;
    const keptCore = nextCore.turns > 0 && nextCore.turns === core.turns;
    longestMs = Math.max(longestMs, keptCore ? Math.min(delayMs, nextCore.ranMs - core.ranMs) : delayMs);
    [at, core, stolen, loop] = [nextAt, nextCore, nextStolen, nextLoop];
  };
  setInterval(measure, EVERY_MS).unref();
  return ({ forget } = { forget: false }) => {
    const delayMs = longestMs;
    if (forget) longestMs = 0;
    return delayMs;
  };
}

/** The time that this thread ran and waited for a core, and how often it got one, since its start; 0 where the kernel has no such file. */
function coreTimes(): { readonly ranMs: number; readonly waitedMs: number; readonly turns: number } {
  try {
    const [ran, waited, turns] = readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ').map(Number);
    return { ranMs: ran / 1e6, waitedMs: waited / 1e6, turns };
  } catch {
    return { ranMs: 0, waitedMs: 0, turns: 0 };
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
