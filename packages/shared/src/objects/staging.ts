/**
 * The files that a folder store writes before it renames them. The name of each file identifies the process that writes it,
 * so that the next store to open the folder can remove the files of dead processes and keep those of live ones. (Containers
 * with the same host name but separate pids can take each other for dead: then the put that lost its file rejects and can be
 * retried.)
 */
import { randomBytes } from 'node:crypto';
import { mkdir, open, readdir, stat, unlink, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';

/** For processes whose pid proves nothing (another host, or the pid was reused): no put takes this long. */
const SURELY_DEAD_MS = 3_600_000;

const HOST = hostname().replace(/[^A-Za-z0-9-]/g, '-');
/** Distinguishes this process from an earlier one with the same pid, as in a restarted container. */
const INSTANCE = randomBytes(4).toString('hex');
const NAME = /^(?<host>[A-Za-z0-9-]+)\.(?<pid>\d+)\.(?<instance>[0-9a-f]{8})\.\d+$/;

let written = 0;

/** Of a file: bytes, or a stream of them. */
export type Part = Uint8Array | AsyncIterable<Uint8Array>;

export interface StageOptions {
  readonly sync: boolean;
  readonly signal?: AbortSignal | undefined;
}

/** Writes the parts in order into a new file and returns its path; on failure the file is removed. */
export async function stage(
  directory: string,
  parts: readonly Part[],
  { sync, signal }: StageOptions,
): Promise<string> {
  const path = join(directory, `${HOST}.${process.pid}.${INSTANCE}.${written++}`);
  const handle = await open(path, 'wx');
  try {
    try {
      for (const part of parts) await writeFile(handle, part, { signal });
      if (sync) await handle.datasync();
    } finally {
      await handle.close();
    }
  } catch (error) {
    await discard(path);
    throw error;
  }
  return path;
}

/** Never rejects: it runs after a failure, which is the one to report. */
export async function discard(path: string): Promise<void> {
  await unlink(path).catch(() => {});
}

/** Creates the directory if needed, and removes abandoned files from it. */
export async function sweep(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true });
  for (const name of await readdir(directory)) {
    if (await isAbandoned(directory, name)) await discard(join(directory, name));
  }
}

async function isAbandoned(directory: string, name: string): Promise<boolean> {
  const writer = NAME.exec(name)?.groups;
  if (writer && writer.host === HOST) {
    const pid = Number(writer.pid);
    if (pid === process.pid ? writer.instance !== INSTANCE : !isAlive(pid)) return true;
  }
  const { mtimeMs } = await stat(join(directory, name)).catch(() => ({ mtimeMs: Date.now() }));
  return Date.now() - mtimeMs > SURELY_DEAD_MS;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: the process exists and belongs to another user.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
