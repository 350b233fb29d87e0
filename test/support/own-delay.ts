/** How long a thread's event loop was kept from turning by what the thread itself did. */
import { readFileSync } from 'node:fs';

const EVERY_MS = 5;

/** Delays in which the thread hardly ran: so many are forgiven. */
const FORGIVEN = 2;

/**
 * Measures from now on, on the thread that calls it. Returns the longest delay so far, in ms. Time in which the thread could have run
 * but had no core, or its core was lent to another machine, is left out (the kernel counts both): that is the doing of others.
 * A host may also hold a core back without a word: a tenth of a second passes, and the thread neither ran nor waited. Two of those
 * are forgiven, since a call that blocks the thread does so at every job.
 */
export function measureOwnDelay(): () => number {
  let ranMs = 0;
  /** The longest, in descending order. */
  const stoodMs = Array<number>(FORGIVEN + 1).fill(0);
  let [at, core, stolen] = [performance.now(), coreTimes(), stolenMs()];
  const look = (): void => {
    const [nextAt, nextCore, nextStolen] = [performance.now(), coreTimes(), stolenMs()];
    const others = nextCore.waitedMs - core.waitedMs + (nextStolen - stolen);
    const delayMs = nextAt - at - EVERY_MS - others;
    const ran = Math.min(delayMs, nextCore.ranMs - core.ranMs);
    ranMs = Math.max(ranMs, ran);
    stoodMs.push(delayMs - ran);
    stoodMs.sort((a, b) => b - a).pop();
    [at, core, stolen] = [nextAt, nextCore, nextStolen];
  };
  setInterval(look, EVERY_MS).unref();
  return () => Math.max(ranMs, stoodMs[FORGIVEN]);
}

/** What this thread spent on a core and waiting for one, since it began; 0 where the kernel does not tell. */
function coreTimes(): { readonly ranMs: number; readonly waitedMs: number } {
  try {
    // Nanoseconds on a core, nanoseconds waiting for one, times it got one.
    const [ran, waited] = readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ');
    return { ranMs: Number(ran) / 1e6, waitedMs: Number(waited) / 1e6 };
  } catch {
    return { ranMs: 0, waitedMs: 0 };
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
