/** Runs commands that end by themselves. */
import { spawn } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url)).replace(/\/$/, '');

/** How long what a command left running may take to end after SIGTERM. */
const LEFTOVERS_MS = 10_000;
const LOOK_MS = 20;

/** The running commands, each with whether it may be stopped: apt-get must not be killed in the middle of an installation. */
const running = new Map();

/**
 * Runs a command in the repository's root and resolves with its exit code (128 when a signal ended it). It shares this
 * process's output; with `quiet` its output is shown only when it fails. An abort of `signal` ends the command and its
 * children; without a `signal` it cannot be stopped. What a command with a `signal` leaves running is ended before this resolves.
 * `onMessage` gets the messages that a Node program sends.
 */
export async function runCommand(program, args, { env, signal, onMessage, quiet = false } = {}) {
  signal?.throwIfAborted();
  const stdio = quiet ? ['ignore', 'pipe', 'pipe'] : ['ignore', 'inherit', 'inherit'];
  if (onMessage) stdio.push('ipc');
  // A separate process group: when npm and turbo are stopped, they leave their children running.
  const child = spawn(program, args, { cwd: ROOT, stdio, detached: true, env: { ...process.env, ...env } });
  if (onMessage) child.on('message', onMessage);
  const output = [];
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => output.push(chunk));
  const abort = () => endGroup(child, 'SIGTERM');
  signal?.addEventListener('abort', abort);
  const ended = new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve(code ?? 128));
  });
  const over = signal ? Promise.all([ended, leftoversOver(child, signal)]).then(([code]) => code) : ended;
  running.set(child, { over, isStoppable: signal !== undefined });
  try {
    const code = await over;
    if (code !== 0 && !signal?.aborted) process.stderr.write(Buffer.concat(output));
    return code;
  } finally {
    running.delete(child);
    signal?.removeEventListener('abort', abort);
  }
}

/** From the exit of the child on: its output may end only with the last of what it left running. */
const leftoversOver = (child, signal) =>
  new Promise((resolve, reject) => {
    child.once('exit', () => endLeftovers(child, signal).then(resolve, reject));
  });

/** A program that is killed, or fails, does not end its children; they are still in its process group. */
async function endLeftovers(child, signal) {
  // An abort has sent SIGTERM already, and a second one stops some programs at once.
  if (!signal.aborted) endGroup(child, 'SIGTERM');
  const giveUpAt = performance.now() + LEFTOVERS_MS;
  while (endGroup(child, 0)) {
    if (performance.now() > giveUpAt) return void endGroup(child, 'SIGKILL');
    await delay(LOOK_MS);
  }
}

/** Resolves when no command is running. */
export const commandsOver = () => Promise.allSettled([...running.values()].map(({ over }) => over));

process.on('exit', () => {
  for (const [child, { isStoppable }] of running) if (isStoppable) endGroup(child, 'SIGKILL');
});

/** Sends a signal to the whole process group that this child leads. False when no process of the group is left. */
export function endGroup(child, signal) {
  if (child?.pid === undefined) return false;
  try {
    return process.kill(-child.pid, signal);
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
    return false;
  }
}

/** Runs npm: the one that started this process, else the one on PATH. */
export function runNpm(args, options) {
  const cli = process.env.npm_execpath;
  const env = { npm_config_update_notifier: 'false', TURBO_TELEMETRY_DISABLED: '1', ...options?.env };
  return cli?.endsWith('npm-cli.js')
    ? runCommand(process.execPath, [cli, ...args], { ...options, env })
    : runCommand('npm', args, { ...options, env });
}

/** Path of the first of these programs on PATH; undefined when there is none. */
export async function findProgram(...names) {
  for (const name of names) {
    for (const folder of (process.env.PATH ?? '').split(delimiter)) {
      const path = join(folder, name);
      if (folder !== '' && (await canRun(path))) return path;
    }
  }
  return undefined;
}

const canRun = (path) =>
  access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
