/** Lehr's programs as real processes, started from the build. Tests wait for their log lines. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { whenDone } from './cleanup.ts';
import { asUser } from './redis-server.ts';

export interface LogLine {
  readonly level: string;
  readonly msg: string;
  readonly [field: string]: unknown;
}

export interface LehrProcess {
  readonly pid: number;
  readonly lines: readonly LogLine[];
  /** Resolves with the first line, past or future, for which `matches` returns true. */
  line(matches: (line: LogLine) => boolean): Promise<LogLine>;
  /** Resolves with the first line that has this message. */
  logged(message: string): Promise<LogLine>;
  signal(signal: NodeJS.Signals): void;
  /** Resolves with the exit code or the signal. */
  exited(): Promise<number | NodeJS.Signals>;
  /** Sends SIGTERM and waits for the exit. */
  stop(): Promise<void>;
}

const ENTRIES = { api: '../../apps/api/dist/main.js', worker: '../../apps/worker/dist/main.js' } as const;

/** Starts a program, as its own user of a test's Redis, with only the given LEHR_ variables. It is killed at the end of the test. */
export function startLehr(
  program: keyof typeof ENTRIES,
  env: Readonly<Record<string, string>>,
  nodeFlags: readonly string[] = [],
): LehrProcess {
  const own = env.LEHR_REDIS_URL && { LEHR_REDIS_URL: asUser(env.LEHR_REDIS_URL, program) };
  return startProgram(
    fileURLToPath(new URL(ENTRIES[program], import.meta.url)),
    { ...env, ...own },
    [],
    nodeFlags,
  );
}

export function startProgram(
  file: string,
  env: Readonly<Record<string, string>>,
  args: readonly string[] = [],
  nodeFlags: readonly string[] = [],
): LehrProcess {
  return startCommand(process.execPath, [...nodeFlags, file, ...args], env);
}

/** As `startProgram`, for a command that is not a JavaScript file. */
export function startCommand(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): LehrProcess {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('LEHR_'));
  const child = spawn(command, args, {
    env: { ...Object.fromEntries(inherited), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  whenDone(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, 'exit');
    child.kill('SIGCONT');
    child.kill('SIGKILL');
    await exit;
  });
  return watch(child);
}

function watch(child: ChildProcess): LehrProcess {
  const lines: LogLine[] = [];
  const waiting = new Set<() => void>();
  const exit = new Promise<number | NodeJS.Signals>((resolve) => {
    child.once('exit', (code, signal) => resolve(signal ?? code ?? -1));
  });
  const addLine = (text: string): void => {
    lines.push(text.startsWith('{') ? (JSON.parse(text) as LogLine) : { level: 'text', msg: text });
    for (const check of waiting) check();
  };
  for (const stream of [child.stdout, child.stderr]) if (stream) createInterface(stream).on('line', addLine);
  const line = (matches: (line: LogLine) => boolean): Promise<LogLine> =>
    new Promise((resolve, reject) => {
      const check = (): void => {
        const found = lines.find(matches);
        if (!found) return;
        waiting.delete(check);
        resolve(found);
      };
      waiting.add(check);
      check();
      void exit.then((how) => {
        check();
        if (!waiting.delete(check)) return;
        const tail = lines.slice(-12).map((each) => JSON.stringify(each));
        reject(
          new Error(
            `the process ended (${how}) before it logged the expected line; its last lines:\n${tail.join('\n')}`,
          ),
        );
      });
    });
  return {
    pid: child.pid as number,
    lines,
    line,
    logged: (message) => line(({ msg }) => msg === message),
    signal: (signal) => child.kill(signal),
    exited: () => exit,
    stop: async () => {
      child.kill('SIGTERM');
      await exit;
    },
  };
}
