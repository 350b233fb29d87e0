/** The processor time that a process has used, as Linux reports it. */
import { readFileSync } from 'node:fs';

/** Fields of /proc/<pid>/stat behind the name of the program: time in user mode and in the kernel. See proc(5). */
const USER_TIME = 11;
const SYSTEM_TIME = 12;
/** The unit of these fields: sysconf(_SC_CLK_TCK), which is 100 on every Linux that Node.js runs on. */
const TICKS_PER_S = 100;

/** Seconds over all threads; undefined when the process is gone, and on systems without /proc. */
export function processorSeconds(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name may hold spaces and parentheses.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[USER_TIME]) + Number(fields[SYSTEM_TIME])) / TICKS_PER_S;
  } catch {
    return undefined;
  }
}
