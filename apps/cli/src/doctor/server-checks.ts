/**
 * Checks that only the server's machine can make. They are a program of the worker and run in a separate process: this package
 * contains neither Redis nor ONNX Runtime, and an ONNX graph that crashes its process must not crash the doctor.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { serverProgram } from '../server-program.ts';
import type { Terminal } from '../terminal.ts';
import type { Check } from './check.ts';

/** `flags` are those of the program. Reports each check when it is done. Returns false when the server is not installed here. */
export async function checkServer(
  { env, signal }: Pick<Terminal, 'env' | 'signal'>,
  flags: readonly string[],
  report: (check: Check) => void,
): Promise<boolean> {
  const program = serverProgram('doctor');
  if (program === undefined) return false;
  const child = spawn(process.execPath, [program, ...flags], {
    env: { ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    signal,
  });
  const ended = once(child, 'close') as Promise<[code: number | null, signal: string | null]>;
  let stderr = '';
  child.stderr.on('data', (text: Buffer) => {
    stderr = `${stderr}${text}`.slice(-1000);
  });
  for await (const line of createInterface({ input: child.stdout })) report(JSON.parse(line) as Check);
  const [code, killedBy] = await ended;
  if (code !== 0) {
    const detail = `the checks ended early (${killedBy ?? code}): ${stderr.trim() || 'no output'}`;
    report({
      name: 'server',
      state: 'fail',
      detail,
      advice: 'The check after the last one above ended the process.',
    });
  }
  return true;
}
