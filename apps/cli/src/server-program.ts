/** Runs a program of the server, which this package does not contain, and reads the JSON lines that it prints. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { CliError, EXIT, type ExitCode } from './exit-codes.ts';
import type { Terminal } from './terminal.ts';

interface Failure {
  readonly type: 'failed';
  readonly code: string;
  readonly message: string;
}

/** Other codes mean that the request cannot succeed as it is. */
const EXIT_OF: Readonly<Record<string, ExitCode>> = {
  unauthenticated: EXIT.notAllowed,
  forbidden: EXIT.notAllowed,
  unavailable: EXIT.unreachable,
  'rate-limited': EXIT.tryLater,
  'storage-failed': EXIT.noOutput,
  internal: EXIT.fault,
};

/**
 * Path of a program of the worker; undefined where the worker is not. It is looked up by the name of its package, which is not
 * published: only a checkout has it.
 */
export function serverProgram(name: string): string | undefined {
  try {
    const manifest = createRequire(import.meta.url).resolve('@lehr/worker/package.json');
    const program = join(dirname(manifest), 'dist/programs', name, 'main.js');
    return existsSync(program) ? program : undefined;
  } catch {
    return undefined;
  }
}

export const serverIsElsewhere = (): CliError =>
  new CliError(
    EXIT.config,
    "this command needs the programs of Lehr's server, which this package does not contain: run npx lehr in a checkout of Lehr, after npm ci and npm run build",
  );

/** Resolves with the line of type `wanted`. Throws CliError with the program's error, and when the server is not installed here. */
export async function runServerProgram<Event extends { readonly type: string }, Type extends Event['type']>(
  program: string | undefined,
  args: readonly string[],
  { env, signal }: Pick<Terminal, 'env' | 'signal'>,
  wanted: Type,
  onEvent: (event: Event) => void = () => {},
): Promise<Extract<Event, { type: Type }>> {
  if (program === undefined) throw serverIsElsewhere();
  const child = spawn(process.execPath, [program, ...args], {
    env: { ...env },
    // Its end tells the program that this process is gone, also after a kill.
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const stop = (): void => void child.kill('SIGTERM');
  signal.addEventListener('abort', stop, { once: true });
  const ended = once(child, 'close') as Promise<[code: number | null, killedBy: string | null]>;
  let stderr = '';
  child.stderr.on('data', (text: Buffer) => {
    stderr = `${stderr}${text}`.slice(-1000);
  });
  let result: Event | undefined;
  let failure: Failure | undefined;
  for await (const line of createInterface({ input: child.stdout })) {
    const event = JSON.parse(line) as Event | Failure;
    if (event.type === 'failed') failure = event as Failure;
    else if (event.type === wanted) result = event as Event;
    else onEvent(event as Event);
  }
  const [code, killedBy] = await ended;
  if (signal.aborted) throw new CliError(EXIT.interrupted, 'interrupted; what is complete stays');
  if (failure) throw new CliError(EXIT_OF[failure.code] ?? EXIT.refused, failure.message);
  if (result) return result as Extract<Event, { type: Type }>;
  throw new CliError(EXIT.fault, `the server's program ended (${killedBy ?? code}): ${stderr.trim()}`);
}
