/**
 * A lock between processes: a file that names its holder. It is taken from a holder that has died: on this machine that is known at
 * once, for a holder of another machine (a shared folder) after a minute without a sign of life.
 */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { link, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { z } from 'zod';
import { systemClock } from '../../base/clock.ts';
import { LehrError } from '../../base/errors.ts';
import { codeOf, ignore } from '../../objects/errno.ts';

const HolderSchema = z.object({
  host: z.string(),
  pid: z.int(),
  /** When the process started: a later process can have the same pid. */
  started: z.string(),
  token: z.string(),
});
type Holder = z.output<typeof HolderSchema>;

export interface Lock {
  /** Aborts when another process has taken the lock, as after a long suspension of this one. */
  readonly lost: AbortSignal;
  release(): Promise<void>;
}

const TRY_EVERY_MS = 500;
const BEAT_EVERY_MS = 5_000;
const SILENT_AFTER_MS = 60_000;

/** Waits until the lock is free, or rejects when `signal` aborts. `onWait` is called once, if it has to wait. */
export async function acquireLock(path: string, signal: AbortSignal, onWait: () => void): Promise<Lock> {
  const own = self();
  for (let waited = false; !(await take(path, own)); waited = true) {
    if (!waited) onWait();
    await systemClock.sleep(TRY_EVERY_MS, signal);
    signal.throwIfAborted();
  }
  return hold(path, own);
}

/** Undefined when another process holds it. */
export async function tryLock(path: string): Promise<Lock | undefined> {
  const own = self();
  // The first attempt removes the lock of a dead process.
  return (await take(path, own)) || (await take(path, own)) ? hold(path, own) : undefined;
}

const self = (): Holder => ({
  host: hostname(),
  pid: process.pid,
  started: startOf('self'),
  token: randomBytes(8).toString('hex'),
});

function hold(path: string, own: Holder): Lock {
  const lost = new AbortController();
  const beat = setInterval(async () => {
    const holder = await readHolder(path).catch(() => undefined);
    if (holder?.token === own.token) await utimes(path, new Date(), new Date()).catch(() => {});
    else lost.abort(new LehrError('conflict', `Another process has taken the lock ${path}.`));
  }, BEAT_EVERY_MS);
  beat.unref();
  return {
    lost: lost.signal,
    release: async () => {
      clearInterval(beat);
      if ((await readHolder(path))?.token === own.token) await rm(path, { force: true });
    },
  };
}

/** A hard link publishes the whole file, and succeeds only for the first of several processes. */
async function take(path: string, own: Holder): Promise<boolean> {
  const draft = `${path}.${own.token}`;
  await writeFile(draft, JSON.stringify(own));
  try {
    await link(draft, path);
    return true;
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
    await removeDead(path, `${draft}.dead`);
    return false;
  } finally {
    await rm(draft, { force: true });
  }
}

/** Moved away first: between the reading and the removal another process may have taken the lock, and gets it back then. */
async function removeDead(path: string, aside: string): Promise<void> {
  const holder = await readHolder(path);
  if (holder && !(await isDead(path, holder))) return;
  await rename(path, aside).catch(ignore('ENOENT'));
  const moved = await readHolder(aside);
  if (moved && moved.token !== holder?.token) await link(aside, path).catch(ignore('EEXIST'));
  await rm(aside, { force: true });
}

async function isDead(path: string, { host, pid, started }: Holder): Promise<boolean> {
  if (host === hostname()) return startOf(pid) !== started;
  const info = await stat(path).catch(ignore('ENOENT'));
  return info !== undefined && Date.now() - info.mtimeMs > SILENT_AFTER_MS;
}

/** Undefined when there is no file, or it is not one of this module: a disk that was full leaves an empty one. */
async function readHolder(path: string): Promise<Holder | undefined> {
  const text = await readFile(path, 'utf8').catch(ignore('ENOENT'));
  if (text === undefined) return undefined;
  try {
    return HolderSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** The start time of a process in ticks of the kernel; empty when there is no such process. */
function startOf(pid: number | 'self'): string {
  try {
    const status = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The second field is the program's name in parentheses and may have spaces.
    return status.slice(status.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  } catch {
    return '';
  }
}
