/**
 * An ObjectStore in a local folder: the default, and usable by several processes of one machine at once.
 *
 *     <root>/,writing/            files being written, on the same file system so that they can be renamed
 *     <root>/<segment>/...        one directory for each segment of a key except the last
 *     <root>/.../<last>,object    the object (object-file.ts)
 *
 * No key contains a comma, so an object `a` and a directory `a/` can exist side by side, and no key collides with `,writing`.
 * Symbolic links inside the folder are no objects: they are neither followed nor listed.
 */
import { mkdir, realpath, statfs, unlink } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import { type Clock, systemClock } from '../clock.ts';
import type { ObjectKey } from '../ids.ts';
import { readableBody, sha256Hex } from './body.ts';
import {
  asObjectKey,
  checkContentType,
  checkKey,
  checkLifetimeS,
  checkPrefix,
  HEALTH_KEY,
} from './checks.ts';
import { ignore, storageFailed } from './errno.ts';
import { checkLinkSecret, signLink } from './links.ts';
import { encodeHeader, readObjectFile } from './object-file.ts';
import { discard, stage, sweep } from './staging.ts';
import type { LinkOptions, ObjectInfo, ObjectStore, PutOptions, StoredObject } from './store.ts';
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
      return await this.#read(key, unreadable);
    } catch (error) {
      throw unreadable(error);
    }
  }

  async link(key: ObjectKey, options: LinkOptions = {}): Promise<string> {
    checkKey(key);
    const { publicUrl, linkSecret, clock = systemClock } = this.#options;
    const expiresAtS = Math.floor(clock.now() / 1000) + checkLifetimeS(options);
    return signLink(publicUrl, linkSecret, { key, expiresAtS, filename: options.filename });
  }

  async delete(key: ObjectKey): Promise<void> {
    checkKey(key);
    const path = this.#path(key);
    try {
      if (!(await isInside(this.#root, dirname(path)))) return;
      await unlink(path).catch(ignore('ENOENT'));
      await removeEmpty(this.#root, dirname(path));
    } catch (error) {
      throw storageFailed(`Could not delete ${key}`, error);
    }
  }

  async *list(prefix: string): AsyncIterable<ObjectKey> {
    const directory = this.#inside(join(this.#root, ...checkPrefix(prefix)));
    try {
      if (!(await isInside(this.#root, directory))) return;
      for await (const file of walk(directory)) {
        if (!file.endsWith(SUFFIX)) continue;
        const key = asObjectKey(prefix + file.slice(0, -SUFFIX.length));
        if (key) yield key;
      }
    } catch (error) {
      throw storageFailed(`Could not list ${prefix}`, error);
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

  async #write(path: string, parts: readonly Uint8Array[], signal: AbortSignal | undefined): Promise<void> {
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

  async #read(key: ObjectKey, unreadable: (error: unknown) => Error): Promise<StoredObject | undefined> {
    const handle = await openInside(this.#root, this.#path(key));
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
    return this.#inside(join(this.#root, ...`${key}${SUFFIX}`.split('/')));
  }

  /** A second check after `checkKey`, of the path made from the key. */
  #inside(path: string): string {
    if (path.startsWith(this.#root + sep)) return path;
    throw new Error(`${JSON.stringify(path)} is outside the object folder. This is a bug in Lehr.`);
  }
}
