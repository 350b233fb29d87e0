/** The priority of threads that must not take time from the event loop. */
import { getPriority, setPriority } from 'node:os';

/** How much lower their priority is, in steps of nice(2). */
const NICER_BY = 10;
const NICEST = 19;

/** Called by a thread: it gets the time that requests leave. On Linux a priority belongs to a thread, elsewhere to the whole process. */
export function runsInSpareTime(): void {
  if (process.platform === 'linux') setPriority(Math.min(NICEST, getPriority() + NICER_BY));
}
