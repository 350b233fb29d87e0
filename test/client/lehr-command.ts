/** Runs the built command `lehr` in its own process, as a user does. */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import type { Stack } from '../support/stack.ts';

export const LEHR = fileURLToPath(new URL('../../packages/client/bin/lehr.mjs', import.meta.url));

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

/** Returns a function that runs the command against a stack until it exits. */
export const lehrFor =
  ({ url, key }: Pick<Stack, 'url' | 'key'>) =>
  (args: readonly string[], setting: Setting = {}): Promise<Ended> =>
    startLehrCommand(args, { ...setting, env: { LEHR_URL: url, LEHR_API_KEY: key, ...setting.env } }).ended;
