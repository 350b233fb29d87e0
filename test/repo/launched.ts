/** Runs `npm start`, or another command of the repository, for a test: its output, the processes that it started, and its end. */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { freePort } from '../support/ports.ts';

export interface Installation {
  readonly env: Readonly<Record<string, string>>;
  readonly home: string;
  readonly url: string;
  /** Runs `npm start` with these variables and options as well. */
  start(more?: Readonly<Record<string, string>>, ...args: readonly string[]): Launched;
}

/** A folder and ports that no other test has, in a clone of the repository. */
export async function installation(clone: string, home: string): Promise<Installation> {
  const [port, workerPort] = [await freePort(), await freePort()];
  const env = { LEHR_HOME: home, LEHR_PORT: `${port}`, LEHR_WORKER_PORT: `${workerPort}` };
  const start: Installation['start'] = (more = {}, ...args) => {
    const launched = new Launched({ clone, env: { ...env, ...more }, args });
    onTestFinished(() => launched.killAll());
    return launched;
  };
  return { env, home: join(clone, home), url: `http://127.0.0.1:${port}`, start };
}

export interface LaunchOptions {
  readonly clone: string;
  readonly env: Readonly<Record<string, string>>;
  /** Of package.json; default `start`. */
  readonly script?: string;
  /** After `npm run SCRIPT --`. */
  readonly args?: readonly string[];
}

export class Launched {
  readonly #child: ChildProcess;
  readonly #mark: string;
  readonly #exit: Promise<number | null>;
  readonly #listeners = new Set<() => void>();
  #printed = '';
  #logged = '';

  constructor({ clone, env, script = 'start', args = [] }: LaunchOptions) {
    this.#mark = `LEHR_TEST_MARK=${randomUUID()}`;
    const [name, value] = this.#mark.split('=');
    this.#child = spawn('npm', ['run', script, '--', ...args], {
      cwd: clone,
      // As from a terminal: npm and the launcher share a group, which Ctrl-C reaches as a whole.
      detached: true,
      env: { ...foreignEnvironment(), npm_config_prefer_offline: 'true', ...env, [name]: value },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#printed += text;
      for (const listener of this.#listeners) listener();
    });
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.#logged += text;
      for (const listener of this.#listeners) listener();
    });
    this.#exit = once(this.#child, 'close').then(([code]) => code as number | null);
    void this.#exit.then(() => {
      for (const listener of this.#listeners) listener();
    });
  }

  /** What the launcher has printed so far. */
  get output(): string {
    return this.#printed;
  }

  /** Resolves when the launcher has printed it; rejects with all its output when it ends before. */
  prints(pattern: RegExp): Promise<void> {
    return this.#waitUntil(() => pattern.test(this.#printed));
  }

  /** Resolves when its children have logged it this many times. */
  logs(text: string, times: number): Promise<void> {
    return this.#waitUntil(() => this.#logged.split(text).length > times);
  }

  #waitUntil(isThere: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const look = (): void => {
        if (isThere()) resolve();
        else if (this.#child.exitCode !== null)
          reject(new Error(`npm run ended:\n${this.#printed}\n${this.#logged}`));
        else return;
        this.#listeners.delete(look);
      };
      this.#listeners.add(look);
      look();
    });
  }

  ready(): Promise<void> {
    return this.prints(/Ctrl-C stops everything/);
  }

  /** Sends a signal to npm alone, as a supervisor does. Resolves with the exit code. */
  terminate(): Promise<number | null> {
    this.#child.kill('SIGTERM');
    return this.#exit;
  }

  /** Sends a signal to npm and the launcher at once, as a terminal does. */
  interrupt(): Promise<number | null> {
    process.kill(-this.pid, 'SIGINT');
    return this.#exit;
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get exit(): Promise<number | null> {
    return this.#exit;
  }

  /** Every process below npm: the launcher, Redis, the API, the worker, its engine. */
  descendants(): Descendant[] {
    const all = processes();
    const below = (parent: number): Descendant[] =>
      all.filter((each) => each.parent === parent).flatMap((each) => [each, ...below(each.pid)]);
    return below(this.pid);
  }

  /** The processes that have the mark of this launch in their environment, whatever their parent is by now. */
  marked(): Descendant[] {
    return processes().filter(({ pid }) => readProc(pid, 'environ').split('\0').includes(this.#mark));
  }

  /** Kills every process of this launch, for a test that failed halfway. */
  killAll(): void {
    for (const { pid } of [...this.descendants(), ...this.marked()]) killQuietly(pid);
    if (this.#child.exitCode === null) killQuietly(this.pid);
  }
}

export interface Descendant {
  readonly pid: number;
  readonly parent: number;
  readonly command: string;
}

export const isAlive = ({ pid, command }: Descendant): boolean =>
  processes().some((each) => each.pid === pid && each.command === command);

export const isRunning = (pid: number): boolean => processes().some((each) => each.pid === pid);

/** All processes that are not zombies. Linux only, as the servers that these tests start. */
function processes(): Descendant[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      const pid = Number(name);
      // "pid (name) state parent ...", where the name may hold anything.
      const [state, parent] = readProc(pid, 'stat')
        .replace(/^.*\) /s, '')
        .split(' ');
      if (parent === undefined || state === 'Z') return [];
      return [
        { pid, parent: Number(parent), command: readProc(pid, 'cmdline').replaceAll('\0', ' ').trim() },
      ];
    });
}

/** Empty when the process has gone. */
function readProc(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}

function killQuietly(pid: number): void {
  try {
    if (pid > 0) process.kill(pid, 'SIGKILL');
  } catch {
    // It has gone by itself.
  }
}

/** Ours without what npm, vitest and Lehr itself put there. */
function foreignEnvironment(): Record<string, string | undefined> {
  const names = Object.keys(process.env).filter(
    (name) => !/^(npm_|LEHR_|VITEST|NODE_ENV$|NODE_OPTIONS$|INIT_CWD$)/.test(name),
  );
  return Object.fromEntries(names.map((name) => [name, process.env[name]]));
}
