/**
 * Runs the programs of a control plane for the process that forked it. When that process ends in any way, their channel closes, and
 * all programs are stopped, the last one first. Messages in: `{ name, program, args, log, env, nice }` starts one. Messages out:
 * `{ name, pid }` and, at its end, `{ name, ended }`.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { setPriority } from 'node:os';

const KILL_AFTER_MS = 20_000;

const children = new Map();
let isStopping = false;

process.on('message', (message) => {
  if (!isStopping) start(message);
});
for (const event of ['disconnect', 'SIGTERM', 'SIGINT', 'SIGHUP']) process.on(event, stopAll);

function start({ name, program, args, log, env, nice }) {
  const file = openSync(log, 'a');
  const child = spawn(program, args, {
    stdio: ['ignore', file, file],
    env: { ...process.env, ...env },
    // Ctrl-C in a terminal reaches this process only, which stops them in order.
    detached: true,
  });
  closeSync(file);
  children.set(name, child);
  child.once('error', ({ message }) => say({ name, ended: message }));
  child.once('exit', (code, signal) => {
    children.delete(name);
    say({ name, ended: signal ?? code });
  });
  if (child.pid === undefined) return;
  try {
    setPriority(child.pid, nice);
  } catch {
    // It has ended already; the exit event says so.
  }
  say({ name, pid: child.pid });
}

async function stop(child) {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), KILL_AFTER_MS);
  await ended;
  clearTimeout(timer);
}

async function stopAll() {
  if (isStopping) return;
  isStopping = true;
  for (const child of [...children.values()].toReversed()) await stop(child);
  process.exit(0);
}

/** A channel that closes in this moment takes no message any more. */
const say = (message) => process.connected && process.send(message, () => {});
