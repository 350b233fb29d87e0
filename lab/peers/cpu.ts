/** CPU time of processes with all their descendants, from /proc. */
import { readdirSync, readFileSync } from 'node:fs';

/** The kernel's clock tick; 10 ms on every Linux that Node runs on. */
const TICK_S = 0.01;

interface Entry {
  readonly parent: number;
  readonly seconds: number;
}

/** CPU seconds since their start, of these processes and their descendants that still run, and of children that have ended. */
export function cpuSeconds(pids: readonly number[]): number {
  const entries = new Map<number, Entry>();
  for (const name of readdirSync('/proc')) {
    const entry = /^\d+$/.test(name) ? entryOf(name) : undefined;
    if (entry) entries.set(Number(name), entry);
  }
  const isOurs = (pid: number): boolean => {
    const entry = entries.get(pid);
    return pids.includes(pid) || (entry !== undefined && isOurs(entry.parent));
  };
  return [...entries].reduce((sum, [pid, { seconds }]) => sum + (isOurs(pid) ? seconds : 0), 0);
}

/** CPU seconds of this process alone, and of its children that have ended. */
export const ownCpuSeconds = (pid: number): number => entryOf(`${pid}`)?.seconds ?? 0;

function entryOf(pid: string): Entry | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // After the name, which may contain spaces: state (3), ppid (4); utime is 14, stime 15, cutime 16, cstime 17.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const ticks = fields.slice(11, 15).reduce((sum, each) => sum + Number(each), 0);
    return { parent: Number(fields[1]), seconds: ticks * TICK_S };
  } catch {
    // It has ended.
    return undefined;
  }
}
