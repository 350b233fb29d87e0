/**
 * Where a folder store writes before it renames. Each file's name says who writes it, so that the next store to open
 * the folder can sweep what a dead process left behind and spare what a live one is still writing. (Containers that
 * share a host name but not their pids can take each other for dead: the put that lost its file rejects, retryable.)
 */
import { randomBytes } from 'node:crypto';
import { mkdir, open, readdir, stat, unlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';

/** A pid on another host, or one given out again, proves nothing; no put lasts this long. */
const SURELY_DEAD_MS = 3_600_000;

const HOST = hostname().replace(/[^A-Za-z0-9-]/g, '-');
/** Tells this process from an earlier one with the same pid, as in a container that was started again. */
const INSTANCE = randomBytes(4).toString('hex');
const NAME = /^(?<host>[A-Za-z0-9-]+)\.(?<pid>\d+)\.(?<instance>[0-9a-f]{8})\.\d+$/;

let written = 0;

export interface StageOptions {
  readonly sync: boolean;
  readonly signal?: AbortSignal | undefined;
}

/** Writes the parts one after another into a new file and returns its path; on failure nothing is left of it. */
export async function stage(
  directory: string,
  parts: readonly Uint8Array[],
  { sync, signal }: StageOptions,
): Promise<string> {
  const path = join(directory, `${HOST}.${process.pid}.${INSTANCE}.${written++}`);
  const handle = await open(path, 'wx');
  try {
    try {
      for (const part of parts) await handle.writeFile(part, { signal });
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

/** Never rejects: it follows a failure that is worth more than its own. */
export async function discard(path: string): Promise<void> {
  await unlink(path).catch(() => {});
}

/** Makes the directory if need be and removes what nobody will finish. */
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
    // EPERM: it lives, under another user.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
