/** The one use of Python in Lehr: an environment of its own for `lehr models export`, and a program that runs in it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { LehrError } from '@lehr/shared';

/** Beside the programs of this package; the image of a worker has no Python and not this folder. */
const SCRIPTS = new URL('../../../python/', import.meta.url).pathname;
const REQUIREMENTS = join(SCRIPTS, 'requirements.txt');
/** Measured on Linux, where torch brings the libraries of CUDA. */
const SIZE = 'about 3 GB are downloaded, and 7 GB are on the disk';

/**
 * Makes the environment in `folder` unless it has these packages already, and returns its interpreter. What was installed completely is
 * kept beside it, so that a broken download is made again at the next call. Throws LehrError `unavailable` with what pip or Python said.
 */
export async function ensurePython(folder: string, say: (text: string) => void): Promise<string> {
  const python = join(folder, 'bin/python');
  const stamp = join(folder, 'installed-requirements.txt');
  const wanted = await readFile(REQUIREMENTS, 'utf8');
  if ((await readFile(stamp, 'utf8').catch(() => '')) === wanted) return python;
  say(`install Python packages for exports into ${folder}: ${SIZE}`);
  await mkdir(folder, { recursive: true });
  await rm(stamp, { force: true });
  await runPython('python3', ['-m', 'venv', folder], () => {});
  const options = ['install', '--disable-pip-version-check', '--progress-bar', 'off'];
  await runPython(python, ['-m', 'pip', ...options, '--requirement', REQUIREMENTS], (line) => {
    const [, name] = /^Collecting ([\w.-]+)/.exec(line) ?? [];
    if (name !== undefined) say(`fetch ${name}`);
    if (line.startsWith('Installing collected packages')) say('install what was fetched');
  });
  await writeFile(stamp, wanted);
  return python;
}

/**
 * Runs a script of this package with a JSON value as its argument, and gives each JSON line of its stdout to `onLine`. Throws LehrError
 * `unavailable` with the last line of its stderr.
 */
export const runScript = (
  python: string,
  script: string,
  request: unknown,
  onLine: (line: Readonly<Record<string, unknown>>) => void,
): Promise<void> =>
  runPython(python, ['-u', '-W', 'ignore', join(SCRIPTS, script), JSON.stringify(request)], (line) => {
    // Libraries print to stdout, too.
    if (line.startsWith('{"')) onLine(JSON.parse(line) as Record<string, unknown>);
  });

async function runPython(
  program: string,
  args: readonly string[],
  onLine: (line: string) => void,
): Promise<void> {
  // The end of its stdin tells the script that this process is gone, also after a kill.
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'] });
  const stop = (): void => void child.kill('SIGKILL');
  const leave = (): void => process.exit(1);
  process.once('exit', stop);
  process.once('SIGTERM', leave);
  let last = '';
  const reading = [
    readLines(child.stdout, onLine),
    readLines(child.stderr, (line) => {
      if (line.trim() !== '') last = line.trim();
    }),
  ];
  try {
    const code = await endOf(child);
    await Promise.all(reading);
    if (code === 0) return;
    throw new LehrError('unavailable', sentence(last || `${program} ended (${code})`));
  } finally {
    process.off('exit', stop);
    process.off('SIGTERM', leave);
  }
}

async function endOf(child: ChildProcess): Promise<number | string> {
  try {
    const [code, signal] = await once(child, 'close');
    return code ?? signal;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    const advice = 'on Debian: apt-get install python3 python3-venv';
    throw new LehrError(
      'unavailable',
      `An export needs Python 3.10 or later, which is not here (${advice}).`,
      { cause: error },
    );
  }
}

async function readLines(stream: NodeJS.ReadableStream, onLine: (line: string) => void): Promise<void> {
  for await (const line of createInterface({ input: stream })) onLine(line);
}

const sentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`);
