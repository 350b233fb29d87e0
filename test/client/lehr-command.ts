/** Runs the built command `lehr` in its own process, as a user does. */
import { type ChildProcessByStdio, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';
import { runCli } from '../../apps/cli/src/run.ts';
import { UNREACHABLE_URL } from '../support/ports.ts';
import type { Stack } from '../support/stack.ts';
import { tempFolder } from '../support/tiny-models.ts';

export const LEHR = fileURLToPath(new URL('../../apps/cli/bin/lehr.mjs', import.meta.url));

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Started {
  readonly child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly ended: Promise<Ended>;
}

export interface Setting {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly stdin?: string;
}

/** Starts the command with no LEHR_ variables except those in `env`. Kills it when the test ends. */
export function startLehrCommand(args: readonly string[], { env = {}, cwd, stdin }: Setting = {}): Started {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('LEHR_'));
  const child = spawn(process.execPath, [LEHR, ...args], {
    env: { ...Object.fromEntries(inherited), ...env },
    stdio: 'pipe',
    ...(cwd !== undefined && { cwd }),
  });
  const closed = once(child, 'close') as Promise<[number | null]>;
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await closed;
  });
  child.stdin.end(stdin ?? '');
  const ended = Promise.all([closed, text(child.stdout), text(child.stderr)]).then(
    ([[code], stdout, stderr]) => ({ code, stdout, stderr }),
  );
  return { child, ended };
}

/** Runs the command in this process: for what it says before it asks Lehr anything. */
export async function runLehr(args: readonly string[]): Promise<Ended> {
  const written = { stdout: '', stderr: '' };
  const code = await runCli(args, {
    env: { LEHR_URL: UNREACHABLE_URL, LEHR_API_KEY: 'none' },
    out: (line) => {
      written.stdout += line;
    },
    err: (line) => {
      written.stderr += line;
    },
    outIsTty: false,
    errIsTty: false,
    columns: 80,
    signal: new AbortController().signal,
    readStdin: async () => '',
  });
  return { code, ...written };
}

/** Returns a function that runs the command against a stack until it exits. */
export const lehrFor =
  ({ url, key }: Pick<Stack, 'url' | 'key'>) =>
  (args: readonly string[], setting: Setting = {}): Promise<Ended> =>
    startLehrCommand(args, { ...setting, env: { LEHR_URL: url, LEHR_API_KEY: key, ...setting.env } }).ended;

export interface LehrShell {
  /** The folder that it works in. */
  readonly cwd: string;
  /** Returns what the script writes to its standard output. Throws when one of its commands fails. */
  run(script: string, more?: Readonly<Record<string, string>>): Promise<string>;
}

/** A shell for commands of the docs: `lehr` is on its PATH, and it has no other variables than these. */
export async function lehrShell(env: Readonly<Record<string, string>>): Promise<LehrShell> {
  const cwd = await tempFolder('shell');
  await symlink(LEHR, join(cwd, 'lehr'));
  const run = promisify(execFile);
  return {
    cwd,
    run: async (script, more = {}) => {
      const all = { ...env, ...more, PATH: `${cwd}:${process.env.PATH}` };
      return (await run('sh', ['-eu', '-c', script], { cwd, env: all })).stdout;
    },
  };
}
