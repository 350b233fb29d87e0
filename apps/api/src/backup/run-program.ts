/** Runs a program of Redis to its end. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { LehrError } from '@lehr/shared';

const SHOWN = 500;

export interface ProgramResult {
  readonly code: number | null;
  /** Standard output and standard error, the last 20 kB. */
  readonly output: string;
}

/** Rejects with `unavailable` when the program is not installed. */
export async function runProgram(
  program: string,
  args: readonly string[],
  { env, signal }: { readonly env: NodeJS.ProcessEnv; readonly signal: AbortSignal },
): Promise<ProgramResult> {
  const child = spawn(program, args, { env, signal, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (text: Buffer) => {
      output = `${output}${text}`.slice(-20_000);
    });
  }
  try {
    const [code] = (await once(child, 'close')) as [number | null];
    return { code, output };
  } catch (error) {
    throw notInstalled(program, error);
  }
}

export const lastWords = (output: string): string => output.trim().slice(-SHOWN) || 'no output';

export function notInstalled(program: string, error: unknown): unknown {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') return error;
  return new LehrError('unavailable', `${program} is not installed here; it comes with Redis`, {
    cause: error,
  });
}
