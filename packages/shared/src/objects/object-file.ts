/**
 * One object as one file, so that a single rename makes body and metadata visible together, even in a crash:
 *
 *     lehr-object-1 {"key":"...","bytes":1234,"contentType":"image/png","sha256":"..."}\n
 *     <the body>
 *
 * `tail -n +2 <file>` prints the body, without Lehr. A file is written under a name of its own, and then renamed.
 */
import { randomBytes } from 'node:crypto';
import { type FileHandle, mkdir, open, readdir, stat, unlink, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { asObjectKey, type ObjectInfo } from './store.ts';

const MAGIC = 'lehr-object-1 ';
/** Key and content type are bounded (512 and 255 characters), so a header always fits. */
const MAX_HEADER_BYTES = 4096;

const HeaderSchema = z.strictObject({
  key: z.string().transform((value, context) => {
    const key = asObjectKey(value);
    if (key) return key;
    context.addIssue({ code: 'custom', message: 'not an object key' });
    return z.NEVER;
  }),
  bytes: z.int().nonnegative(),
  contentType: z.string(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
});

export function encodeHeader({ key, bytes, contentType, sha256 }: ObjectInfo): Buffer {
  return Buffer.from(`${MAGIC}${JSON.stringify({ key, bytes, contentType, sha256 })}\n`);
}

interface ObjectFile {
  readonly info: ObjectInfo;
  /** The byte where the body begins. */
  readonly bodyOffset: number;
}

/** Throws for a file that is not a complete object. */
export async function readObjectFile(handle: FileHandle): Promise<ObjectFile> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(MAX_HEADER_BYTES), 0, MAX_HEADER_BYTES, 0);
  const end = buffer.subarray(0, bytesRead).indexOf('\n');
  const line = buffer.toString('utf8', 0, Math.max(end, 0));
  const info = parseHeader(line);
  const { size } = await handle.stat();
  const bodyOffset = end + 1;
  if (size !== bodyOffset + info.bytes) {
    throw new Error(`its body has ${size - bodyOffset} bytes and not ${info.bytes}.`);
  }
  return { info, bodyOffset };
}

function parseHeader(line: string): ObjectInfo {
  try {
    if (line.startsWith(MAGIC)) return HeaderSchema.parse(JSON.parse(line.slice(MAGIC.length)));
  } catch (cause) {
    throw new Error('its header is damaged.', { cause });
  }
  throw new Error('its file does not begin like an object.');
}

/** For processes whose pid proves nothing (another host, or the pid was reused): no put takes this long. */
const SURELY_DEAD_MS = 3_600_000;

const HOST = hostname().replace(/[^A-Za-z0-9-]/g, '-');
/** Distinguishes this process from an earlier one with the same pid, as in a restarted container. */
const INSTANCE = randomBytes(4).toString('hex');
const NAME = /^(?<host>[A-Za-z0-9-]+)\.(?<pid>\d+)\.(?<instance>[0-9a-f]{8})\.\d+$/;

let written = 0;

/** Of a file: bytes, or a stream of them. */
export type Part = Uint8Array | AsyncIterable<Uint8Array>;

interface StageOptions {
  readonly sync: boolean;
  readonly signal?: AbortSignal | undefined;
}

/**
 * The files that a folder store writes before it renames them. The name of each file identifies the process that writes it,
 * so that the next store to open the folder can remove the files of dead processes and keep those of live ones. (Containers
 * with the same host name but separate pids can take each other for dead: then the put that lost its file rejects and can be
 * retried.)
 * Writes the parts in order into a new file and returns its path; on failure the file is removed.
 */
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
