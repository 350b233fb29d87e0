/**
 * An ObjectStore in a local folder: the default, and usable by several processes of one machine at once.
 *
 *     <root>/,writing/            files being written, on the same file system so that they can be renamed
 *     <root>/<segment>/...        one directory for each segment of a key except the last
 *     <root>/.../<last>,object    the object (object-file.ts)
 *
 * made-at.ts adds a directory for the day to keys that contain the id of a job or file.
 *
 * No key contains a comma, so an object `a` and a directory `a/` can exist side by side, and no key collides with `,writing`.
 * Symbolic links inside the folder are no objects: they are neither followed nor listed.
 */
import { mkdir, realpath, statfs, unlink } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import { type Clock, systemClock } from '../base/clock.ts';
import type { ObjectKey } from '../base/ids.ts';
import { readableBody, sha256Hex } from './body.ts';
import { ignore, storageFailed } from './errno.ts';
import { checkLinkSecret, signLink } from './links.ts';
import { filesMadeBefore, placeOf, withoutDay } from './made-at.ts';
import { discard, encodeHeader, type Part, readObjectFile, stage, sweep } from './object-file.ts';
import {
  asObjectKey,
  checkContentType,
  checkKey,
  checkLifetimeS,
  checkPrefix,
  HEALTH_KEY,
  type LinkOptions,
  type ObjectInfo,
  type ObjectStore,
  type PutOptions,
  type StoredObject,
} from './store.ts';
import { isInside, moveInto, openInside, removeEmpty, syncDirectory, walk } from './tree.ts';

export interface FolderStoreOptions {
  /** Created if it is missing. */
  readonly root: string;
  /** The public URL of the API, which serves `/objects/` below it. */
  readonly publicUrl: string;
  /** Signs the links; at least 32 characters, the same for all API processes. */
  readonly linkSecret: string;
  /**
   * Whether a put waits until the bytes and their name are on the disk (default true; takes some ms). Without it a power cut
   * can lose the objects of the last seconds. A killed process loses none either way.
   */
  readonly fsync?: boolean;
  /** `check()` rejects when less space is free (default 64 MiB), before puts start to fail. */
  readonly minFreeBytes?: number;
  readonly clock?: Pick<Clock, 'now'>;
}

/** Rejects with `storage-failed` when the folder cannot be created or read. */
export async function openFolderStore(options: FolderStoreOptions): Promise<ObjectStore> {
  checkLinkSecret(options.linkSecret);
  try {
    await mkdir(options.root, { recursive: true });
    const root = await realpath(options.root);
    await sweep(join(root, WRITING));
    return new FolderStore(root, options);
  } catch (error) {
    throw storageFailed(`Could not open the object folder ${options.root}`, error);
  }
}

const WRITING = ',writing';
const SUFFIX = ',object';
/** Directories that one call empties at once; Node has four threads for files. */
const PARALLEL_DELETES = 4;
const SLICE = 1000;
const DEFAULT_MIN_FREE_BYTES = 64 * 2 ** 20;

class FolderStore implements ObjectStore {
  readonly #root: string;
  readonly #options: FolderStoreOptions;

  constructor(root: string, options: FolderStoreOptions) {
    this.#root = root;
    this.#options = options;
  }

  async put(key: ObjectKey, body: Uint8Array, options: PutOptions): Promise<ObjectInfo> {
    checkKey(key);
    checkContentType(options);
    const { contentType, signal } = options;
    signal?.throwIfAborted();
    const info = { key, bytes: body.byteLength, contentType, sha256: await sha256Hex(body) };
    try {
      await this.#write(this.#path(key), [encodeHeader(info), body], signal);
    } catch (error) {
      signal?.throwIfAborted();
      throw storageFailed(`Could not store ${key}`, error);
    }
    return info;
  }

  async get(key: ObjectKey): Promise<StoredObject | undefined> {
    checkKey(key);
    const unreadable = (error: unknown) => storageFailed(`Could not read ${key}`, error);
    try {
      return await this.#read(key, this.#path(key), unreadable);
    } catch (error) {
      throw unreadable(error);
    }
  }

  async copy(from: ObjectKey, to: ObjectKey): Promise<boolean> {
    checkKey(to);
    const found = await this.get(from);
    if (!found) return false;
    const { body, ...info } = found;
    try {
      await this.#write(this.#path(to), [encodeHeader({ ...info, key: to }), body], undefined);
    } catch (error) {
      await body.cancel().catch(() => {});
      throw storageFailed(`Could not store ${to}`, error);
    }
    return true;
  }

  async link(key: ObjectKey, options: LinkOptions = {}): Promise<string> {
    checkKey(key);
    const { publicUrl, linkSecret, clock = systemClock } = this.#options;
    const expiresAtS = Math.floor(clock.now() / 1000) + checkLifetimeS(options);
    return signLink(publicUrl, linkSecret, { key, expiresAtS, filename: options.filename });
  }

  async delete(key: ObjectKey): Promise<void> {
    await this.deleteMany([key]);
  }

  async deleteMany(keys: readonly ObjectKey[]): Promise<void> {
    for (const key of keys) checkKey(key);
    const byDirectory = new Map<string, string[]>();
    for (const path of keys.map((key) => this.#path(key))) {
      const paths = byDirectory.get(dirname(path));
      if (paths) paths.push(path);
      else byDirectory.set(dirname(path), [path]);
    }
    // All workers take from one iterator.
    const directories = byDirectory.entries();
    const failures: unknown[] = [];
    const work = async () => {
      for (const [directory, paths] of directories) {
        await this.#remove(directory, paths).catch((error: unknown) => failures.push(error));
      }
    };
    await Promise.all(Array.from({ length: PARALLEL_DELETES }, work));
    if (failures.length === 0) return;
    throw storageFailed(`Could not delete ${keys.length === 1 ? keys[0] : 'objects'}`, failures[0]);
  }

  async *list(prefix: string): AsyncIterable<ObjectKey> {
    checkPrefix(prefix);
    try {
      const place = placeOf(prefix);
      const directory = this.#inside(join(this.#root, place));
      if (!(await isInside(this.#root, directory))) return;
      for await (const file of walk(directory, place)) {
        const key = keyOf(file);
        if (key) yield key;
      }
    } catch (error) {
      throw storageFailed(`Could not list ${prefix}`, error);
    }
  }

  async *listMadeBefore(before: number): AsyncIterable<readonly ObjectKey[]> {
    try {
      let slice: ObjectKey[] = [];
      for await (const file of filesMadeBefore(this.#root, before, SUFFIX)) {
        const key = keyOf(file);
        if (key) slice.push(key);
        if (slice.length < SLICE) continue;
        yield slice;
        slice = [];
      }
      if (slice.length > 0) yield slice;
    } catch (error) {
      throw storageFailed('Could not list old objects', error);
    }
  }

  async check(): Promise<void> {
    const { minFreeBytes = DEFAULT_MIN_FREE_BYTES } = this.#options;
    try {
      const { bavail, bsize } = await statfs(this.#root);
      if (bavail * bsize < minFreeBytes) {
        throw new Error(`${bavail * bsize} bytes are free, wanted at least ${minFreeBytes}.`);
      }
      await this.put(HEALTH_KEY, Buffer.alloc(0), { contentType: 'text/plain' });
      await this.delete(HEALTH_KEY);
    } catch (error) {
      throw storageFailed('The object folder cannot take a write', error);
    }
  }

  async #write(path: string, parts: readonly Part[], signal: AbortSignal | undefined): Promise<void> {
    const { fsync: sync = true } = this.#options;
    const staged = await stage(join(this.#root, WRITING), parts, { sync, signal });
    try {
      signal?.throwIfAborted();
      await moveInto(this.#root, staged, path);
    } catch (error) {
      await discard(staged);
      throw error;
    }
    if (sync) await syncDirectory(dirname(path));
  }

  async #remove(directory: string, paths: readonly string[]): Promise<void> {
    if (!(await isInside(this.#root, directory))) return;
    for (const path of paths) await unlink(path).catch(ignore('ENOENT'));
    await removeEmpty(this.#root, directory);
  }

  async #read(
    key: ObjectKey,
    path: string,
    unreadable: (error: unknown) => Error,
  ): Promise<StoredObject | undefined> {
    const handle = await openInside(this.#root, path);
    if (!handle) return undefined;
    let body: StoredObject['body'] | undefined;
    try {
      const { info, bodyOffset } = await readObjectFile(handle);
      // On a file system that ignores case, this may be the object of another key.
      if (info.key !== key) return undefined;
      body = readableBody(handle.createReadStream({ start: bodyOffset }), unreadable);
      return { ...info, body };
    } finally {
      if (!body) await handle.close();
    }
  }

  #path(key: ObjectKey): string {
    return this.#inside(join(this.#root, `${placeOf(key)}${SUFFIX}`));
  }

  /** A second check after `checkKey`, of the path made from the key. */
  #inside(path: string): string {
    if (path.startsWith(this.#root + sep)) return path;
    throw new Error(`${JSON.stringify(path)} is outside the object folder. This is a bug in Lehr.`);
  }
}

/** Undefined for a file that no store wrote. */
function keyOf(file: string): ObjectKey | undefined {
  return file.endsWith(SUFFIX) ? asObjectKey(withoutDay(file.slice(0, -SUFFIX.length))) : undefined;
}
