/** The time that Redis spent in its commands, as it counts it itself (INFO commandstats). */
import type { Redis } from '../../packages/shared/src/redis/index.ts';

export interface CommandTime {
  readonly calls: number;
  readonly us: number;
}
export type CommandTimes = ReadonlyMap<string, CommandTime>;

/** Commands inside a script count in the time of the script. */
const SCRIPTS = ['eval', 'evalsha', 'fcall'];
/** Of the measurement itself. */
const IGNORED = ['info'];

export async function commandTimes(redis: Redis): Promise<CommandTimes> {
  const stats = await redis.info('commandstats');
  const lines = stats.matchAll(/^cmdstat_(\S+):calls=(\d+),usec=(\d+)/gm);
  return new Map([...lines].map(([, name, calls, us]) => [name, { calls: Number(calls), us: Number(us) }]));
}

/** CPU time of the thread that serves commands, in us: the commands, their parsing and their replies. */
export async function cpuUs(redis: Redis): Promise<number> {
  const cpu = await redis.info('cpu');
  const seconds = cpu.matchAll(/^used_cpu_(?:sys|user)_main_thread:([\d.]+)/gm);
  return [...seconds].reduce((sum, [, each]) => sum + Number(each) * 1e6, 0);
}

export interface Difference {
  /** Of the scripts that clients sent. */
  readonly totalUs: number;
  /** The mean time of the slowest kind of command. */
  readonly slowestUs: number;
  /** Inside and outside of scripts. */
  readonly commands: CommandTimes;
}

export function differenceOf(before: CommandTimes, after: CommandTimes): Difference {
  const commands = new Map<string, CommandTime>();
  for (const [name, { calls, us }] of after) {
    const earlier = before.get(name) ?? { calls: 0, us: 0 };
    if (calls > earlier.calls && !IGNORED.includes(name)) {
      commands.set(name, { calls: calls - earlier.calls, us: us - earlier.us });
    }
  }
  const scripts = [...commands].filter(([name]) => SCRIPTS.includes(name));
  const means = scripts.map(([, { calls, us }]) => us / calls);
  return {
    totalUs: scripts.reduce((sum, [, { us }]) => sum + us, 0),
    slowestUs: Math.max(0, ...means),
    commands,
  };
}

/** A table of the commands per job, the most expensive first. */
export function printCommands({ commands, totalUs }: Difference, jobs: number): void {
  const rows = [...commands].sort(([, a], [, b]) => b.us - a.us);
  process.stderr.write(
    `Redis's commands in a job's life; scripts, with all commands in them: ${(totalUs / jobs).toFixed(0)} us\n`,
  );
  for (const [name, { calls, us }] of rows) {
    process.stderr.write(
      `  ${name.padEnd(20)} ${(calls / jobs).toFixed(2).padStart(7)} calls ${(us / jobs).toFixed(1).padStart(7)} us\n`,
    );
  }
}
