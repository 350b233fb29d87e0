/** CPU time of the processes of one installation, by what they do. */
import { readdirSync, readFileSync } from 'node:fs';
import { ownCpuSeconds } from '../peers/cpu.ts';
import type { WholeLehr } from './whole-lehr.ts';

/** CPU ms since the start of each. */
export interface ProcessCpu {
  readonly api: number;
  /** Of the worker's parent: its JavaScript thread, and all its other threads, which encode pictures. */
  readonly parent: number;
  readonly encoder: number;
  readonly engine: number;
  readonly redis: number;
}

export const PARTS = [
  'engine',
  'parent',
  'encoder',
  'api',
  'redis',
] as const satisfies readonly (keyof ProcessCpu)[];

export function readCpu({ pids, redisPid }: Pick<WholeLehr, 'pids' | 'redisPid'>): ProcessCpu {
  const [api, worker] = pids;
  const all = ownMs(worker);
  const javascript = threadMs(worker);
  return {
    api: ownMs(api),
    parent: javascript,
    encoder: all - javascript,
    engine: childrenOf(worker).reduce((sum, pid) => sum + ownMs(pid), 0),
    redis: ownMs(redisPid),
  };
}

export const differenceOf = (before: ProcessCpu, after: ProcessCpu, jobs: number): ProcessCpu => {
  const each = (part: keyof ProcessCpu): number => (after[part] - before[part]) / jobs;
  return {
    api: each('api'),
    parent: each('parent'),
    encoder: each('encoder'),
    engine: each('engine'),
    redis: each('redis'),
  };
};

const ownMs = (pid: number): number => ownCpuSeconds(pid) * 1000;

/** The main thread of a Node program runs its JavaScript. In ticks of 10 ms, like all CPU times of /proc. */
function threadMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/task/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

function childrenOf(parent: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => parentOf(pid) === parent);
}

function parentOf(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    // It has ended.
    return undefined;
  }
}
