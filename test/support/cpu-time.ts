/** CPU time, for bounds that must hold on a busy machine too, where the time on the clock depends on other processes. */
import { readFileSync } from 'node:fs';

/** The kernel's clock tick; 10 ms on every Linux that Node runs on. */
const TICK_MS = 10;

/** Ms of CPU time of this process and of its children that have ended, since its start. */
export function cpuTimeMs(): number {
  const stat = readFileSync('/proc/self/stat', 'utf8');
  // After the name, which may contain spaces: the fields from `state` (3) on; utime is 14, stime 15, cutime 16, cstime 17.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks) * TICK_MS, 0);
}
