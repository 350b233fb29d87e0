/** Virtual environments of Python, and programs in them that answer requests. */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';

/** A virtual environment of Python with pinned packages; sections may share one. */
export interface Environment {
  /** Its folder below the cache. */
  readonly name: string;
  /** Requirements file, relative to the repository's root. Each line is `package==version`. */
  readonly requirements: string;
  /** What pip downloads and what the disk needs, shown before it starts: `3 GB, 7 GB on the disk`. */
  readonly size: string;
}

const ROOT = new URL('../../', import.meta.url).pathname;

/**
 * Makes the environment unless it has these requirements already. The requirements that were installed completely are kept in a
 * file beside them, so a broken download continues at the next call. Throws when Python or pip fails.
 */
export async function ensureEnvironment(
  cache: string,
  { name, requirements, size }: Environment,
  say: (text: string) => void,
): Promise<void> {
  const folder = join(cache, name);
  const stamp = join(folder, 'installed-requirements.txt');
  const wanted = await readFile(join(ROOT, requirements), 'utf8');
  if ((await readFile(stamp, 'utf8').catch(() => '')) === wanted) return;
  say(`Installing ${requirements} into ${folder}: pip downloads ${size}.`);
  await mkdir(folder, { recursive: true });
  await rm(stamp, { force: true });
  await runToEnd('python3', ['-m', 'venv', folder]);
  await runToEnd(join(folder, 'bin/pip'), [
    'install',
    '--disable-pip-version-check',
    '--requirement',
    join(ROOT, requirements),
  ]);
  await writeFile(stamp, wanted);
}

async function runToEnd(program: string, args: readonly string[]): Promise<void> {
  const child = spawn(program, args, { cwd: ROOT, stdio: ['ignore', 'inherit', 'inherit'] });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${code}.`);
}

/** A running program: it reads one JSON value a line from stdin, and writes one for each to stdout. */
export interface PythonProgram {
  readonly pid: number;
  /** The answer to the request. Throws when the program answers with `error`, or ends. */
  ask<T>(request: unknown): Promise<T>;
  /** Closes stdin and waits until the program has ended. */
  close(): Promise<void>;
}

/** Starts `script` (relative to the repository's root) with the interpreter of the environment. */
export function openPython(
  environment: string,
  script: string,
  { args = [], env = {} }: { args?: readonly string[]; env?: Readonly<Record<string, string>> } = {},
): PythonProgram {
  const child = spawn(join(environment, 'bin/python'), ['-u', join(ROOT, script), ...args], {
    cwd: ROOT,
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, PYTHONWARNINGS: 'ignore', ORT_DISABLE_TELEMETRY: '1', ...env },
  });
  return converse(child, script);
}

/** Requests to a program that answers as `openPython`'s do. `script` is what its errors name. */
export const converse = (
  child: ChildProcessByStdio<Writable, Readable, null>,
  script: string,
): PythonProgram => new Conversation(child, script);

class Conversation implements PythonProgram {
  readonly pid: number;
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #lines: AsyncIterator<string>;
  readonly #ended: Promise<unknown>;
  readonly #script: string;

  constructor(child: ChildProcessByStdio<Writable, Readable, null>, script: string) {
    this.pid = child.pid ?? 0;
    this.#child = child;
    this.#script = script;
    this.#ended = once(child, 'close');
    this.#lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  }

  async ask<T>(request: unknown): Promise<T> {
    this.#child.stdin.write(`${JSON.stringify(request)}\n`);
    for (;;) {
      const { done, value } = await this.#lines.next();
      if (done) throw new Error(`${this.#script} ended without an answer; its output is above.`);
      // Libraries write notes to stdout too.
      if (!value.startsWith('{')) continue;
      const { answer, error } = JSON.parse(value) as { answer: T; error?: string };
      if (error !== undefined) throw new Error(`${this.#script}: ${error}`);
      return answer;
    }
  }

  async close(): Promise<void> {
    this.#child.stdin.end();
    await this.#ended;
  }
}
