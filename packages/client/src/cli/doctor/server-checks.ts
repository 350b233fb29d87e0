/**
 * What only the server's own machine can see. The checks are a program of the worker, run as a process of its own: this
 * package knows neither Redis nor ONNX Runtime, and a graph that takes its process down must not take the doctor along.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Terminal } from '../terminal.ts';
import type { Check } from './check.ts';

/** Seen from dist/cli/doctor/ and from src/cli/doctor/ alike. */
const PROGRAM = fileURLToPath(new URL('../../../../../apps/worker/dist/doctor/main.js', import.meta.url));

/** Says each check as it is made; false when the server is not installed here. */
export async function checkServer(
  { env, signal }: Pick<Terminal, 'env' | 'signal'>,
  skipModels: boolean,
  say: (check: Check) => void,
): Promise<boolean> {
  if (!existsSync(PROGRAM)) return false;
  const child = spawn(process.execPath, [PROGRAM, ...(skipModels ? ['--skip-models'] : [])], {
    env: { ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    signal,
  });
  const ended = once(child, 'close') as Promise<[code: number | null, signal: string | null]>;
  let complaints = '';
  child.stderr.on('data', (text: Buffer) => {
    complaints = `${complaints}${text}`.slice(-1000);
  });
  for await (const line of createInterface({ input: child.stdout })) say(JSON.parse(line) as Check);
  const [code, killedBy] = await ended;
  if (code !== 0) {
    const detail = `the checks ended (${killedBy ?? code}): ${complaints.trim() || 'without a word'}`;
    say({ name: 'server', state: 'fail', detail, advice: 'What was checked last is what took them down.' });
  }
  return true;
}
