/** How long a thread's event loop was kept from turning by what the thread itself did. */
import { readFileSync } from 'node:fs';

const EVERY_MS = 5;

/**
 * Measures from now on, on the thread that calls it. Time in which the thread could have run but had no core, or its core was
 * lent to another machine, is left out (the kernel counts both): that is the doing of others. A host may also stop a core without a
 * word; a thread that never left its core all the while did no more than what it ran. Returns the longest delay so far, in ms.
 */
export function measureOwnDelay(): () => number {
  let longestMs = 0;
  let [at, core, stolen] = [performance.now(), coreTimes(), stolenMs()];
  const look = (): void => {
    const [nextAt, nextCore, nextStolen] = [performance.now(), coreTimes(), stolenMs()];
    const others = nextCore.waitedMs - core.waitedMs + (nextStolen - stolen);
    const delayMs = nextAt - at - EVERY_MS - others;
    const stayed = nextCore.turns > 0 && nextCore.turns === core.turns;
    longestMs = Math.max(longestMs, stayed ? Math.min(delayMs, nextCore.ranMs - core.ranMs) : delayMs);
    [at, core, stolen] = [nextAt, nextCore, nextStolen];
  };
  setInterval(look, EVERY_MS).unref();
  return () => longestMs;
}

/** What this thread spent on a core and waiting for one, and how often it got one, since it began; 0 where the kernel does not tell. */
function coreTimes(): { readonly ranMs: number; readonly waitedMs: number; readonly turns: number } {
  try {
    const [ran, waited, turns] = readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ').map(Number);
    return { ranMs: ran / 1e6, waitedMs: waited / 1e6, turns };
  } catch {
    return { ranMs: 0, waitedMs: 0, turns: 0 };
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
