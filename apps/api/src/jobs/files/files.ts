/**
 * Files that callers upload as inputs of their jobs. The bytes are in the store under `in/<tenant>/<id>`, the record of a file is
 * in Redis, and both expire together.
 */
import {
  type BatchId,
  type Clock,
  type FileId,
  isFileId,
  LehrError,
  newFileId,
  type ObjectKey,
  type TenantId,
  toObjectKey,
} from '@lehr/shared';
import { isContentType, type ObjectStore } from '@lehr/shared/objects';
import type { Keys, Redis } from '@lehr/shared/redis';
import { z } from 'zod';
import type { Caller } from '../../access/auth/authenticator.ts';
import { type PaceLimits, UploadPace } from '../../http/bodies/body-reads.ts';
import type { StorageQuota } from '../space/storage-quota.ts';
import { type Multipart, readMultipart } from './multipart.ts';
import { partKeys, SpooledFile } from './spooled-file.ts';

/** The purposes of OpenAI's files for which Lehr has a use. */
export const SENT_PURPOSES = ['batch', 'vision', 'user_data'] as const;

const FileSchema = z.object({
  id: z.custom<FileId>((value) => typeof value === 'string' && isFileId(value)),
  name: z.string(),
  content_type: z.string(),
  bytes: z.int(),
  sha256: z.string(),
  metadata: z.record(z.string(), z.unknown()),
  /** Of the output of a batch: its lines are with the batch, and not in an object of this file. */
  batch: z
    .object({
      id: z.custom<BatchId>((value) => typeof value === 'string'),
      output: z.enum(['output', 'error']),
    })
    .optional(),
  /** Of a file that was sent in OpenAI's form, which is answered in this form. */
  purpose: z.enum([...SENT_PURPOSES, 'batch_output']).optional(),
  /** Of a file of lines that is in so many parts in the store, because it is larger than an upload. */
  parts: z.int().optional(),
  /** Unix ms. */
  created_at: z.number(),
  expires_at: z.number(),
});
export type StoredFile = z.output<typeof FileSchema>;
type SentPurpose = (typeof SENT_PURPOSES)[number];

export interface FilesOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly store: ObjectStore;
  readonly storage: StorageQuota;
  readonly clock: Clock;
  readonly ttlMs: number;
  /** Of all files of a request. */
  readonly maxBytes: number;
  /** How slowly an upload may arrive; tests shorten it. */
  readonly pace?: PaceLimits;
}

/** What OpenAI's clients may send: 16 pictures and a mask. All of them together are bounded by their bytes. */
const MAX_FILES = 17;
/** Uploads at once at this process: the files of each are in memory until they are stored. */
const MAX_UPLOADS = 16;
const MAX_UPLOADS_OF_TENANT = 8;
/** From this many uploads on each tenant may have one, so that the last slots go to other tenants. */
const CONTENDED = 12;

/** Metadata is in the memory of Redis, which is much scarcer than the store, so that it counts as more bytes. */
const METADATA_WEIGHT = 100;

/** Of a file of lines; that of OpenAI's API. */
const MAX_LINES_BYTES = 200 * 1024 * 1024;

export interface NewFile {
  readonly id?: FileId;
  readonly purpose?: SentPurpose;
  readonly name: string;
  readonly contentType: string;
  readonly bytes: Uint8Array;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

export class Files {
  readonly #options: FilesOptions;
  /** Running uploads by tenant. */
  readonly #uploads = new Map<TenantId, number>();

  constructor(options: FilesOptions) {
    this.#options = options;
  }

  /**
   * Reads a multipart body. Rejects as readMultipart does, with `overloaded` when no slot is free for the tenant, and with
   * QuotaError when the tenant may not store or upload that much.
   */
  receive<T>(caller: Caller, request: Request, use: (body: Multipart) => Promise<T>): Promise<T> {
    const { maxBytes } = this.#options;
    return this.#receive(caller, request, maxBytes, async (space) => use(await this.#read(request, space)));
  }

  /** As `receive`, for a body in which the file of this field may be as large as a file of lines: it comes apart from the others. */
  receiveLarge<T>(
    caller: Caller,
    request: Request,
    field: string,
    use: (body: Multipart, file: SpooledFile) => Promise<T>,
  ): Promise<T> {
    const { store, storage, maxBytes: heldBytes } = this.#options;
    return this.#receive(caller, request, MAX_LINES_BYTES, async (maxBytes) => {
      const id = newFileId();
      const file = new SpooledFile({ store, storage, caller, id, field, heldBytes, maxBytes });
      try {
        return await use(await this.#read(request, Math.min(maxBytes, heldBytes), file), file);
      } catch (error) {
        await file.discard();
        throw error;
      }
    });
  }

  async #receive<T>(
    caller: Caller,
    request: Request,
    most: number,
    read: (space: number) => Promise<T>,
  ): Promise<T> {
    const { storage } = this.#options;
    const stated = Number(request.headers.get('content-length') ?? 1);
    const space = await storage.space(caller, most, Math.min(stated, this.#options.maxBytes));
    const leave = this.#enter(caller.tenant);
    try {
      return await read(space);
    } catch (error) {
      // A body that is too large only for the space of the tenant: the refusal names the limit.
      const isTooLarge = error instanceof LehrError && error.code === 'too-large';
      if (isTooLarge && space < most) await storage.space(caller, most, space + 1);
      throw error;
    } finally {
      leave();
    }
  }

  #read(request: Request, maxFileBytes: number, streamed?: SpooledFile): Promise<Multipart> {
    const { clock, pace } = this.#options;
    const limits = { maxFileBytes, maxFiles: MAX_FILES };
    return readMultipart(request, limits, new UploadPace(clock, pace), streamed);
  }

  /** Takes a slot; returns a function that frees it. */
  #enter(tenant: TenantId): () => void {
    const own = this.#uploads.get(tenant) ?? 0;
    const all = [...this.#uploads.values()].reduce((sum, each) => sum + each, 0);
    const mayHave = all < CONTENDED ? MAX_UPLOADS_OF_TENANT : 1;
    if (all >= MAX_UPLOADS || own >= mayHave) {
      throw new LehrError('overloaded', 'Too many files are being received.', { retryAfterS: 1 });
    }
    this.#uploads.set(tenant, own + 1);
    return () => {
      const left = (this.#uploads.get(tenant) ?? 1) - 1;
      if (left > 0) this.#uploads.set(tenant, left);
      else this.#uploads.delete(tenant);
    };
  }

  /** Stores a file. Rejects with `storage-failed` and QuotaError; then there is no file. */
  async create(caller: Caller, file: NewFile): Promise<StoredFile> {
    const { store, storage } = this.#options;
    const { tenant } = caller;
    const { id = newFileId(), purpose } = file;
    const metadata = { ...file.metadata };
    const counted =
      file.bytes.byteLength + METADATA_WEIGHT * Buffer.byteLength(file.name + JSON.stringify(metadata));
    const options = { contentType: storableType(file.contentType) };
    const { bytes, sha256, contentType } = await storage.putCounted(
      caller,
      fileKey(tenant, id),
      counted,
      (key) => store.put(key, file.bytes, options),
    );
    return this.#keep(tenant, {
      id,
      name: file.name,
      content_type: contentType,
      bytes,
      sha256,
      metadata,
      purpose,
    });
  }

  /** Stores what `receiveLarge` has received. Rejects with `too-large` when only a file of lines may be that large. */
  async createLarge(
    caller: Caller,
    file: SpooledFile,
    { name, contentType, purpose }: Omit<NewFile, 'bytes'>,
  ): Promise<StoredFile> {
    const { id, bytes } = file;
    if (file.parts === 0 || purpose !== 'batch')
      return this.create(caller, { id, name, contentType, bytes: file.whole(), purpose });
    const sha256 = await file.finish();
    const facts = { id, name, content_type: storableType(contentType), bytes, sha256, metadata: {} };
    return this.#keep(caller.tenant, { ...facts, purpose, parts: file.parts });
  }

  /** Those with a purpose are listed. */
  async #keep(tenant: TenantId, facts: Omit<StoredFile, 'created_at' | 'expires_at'>): Promise<StoredFile> {
    const { redis, keys, clock, ttlMs } = this.#options;
    const now = clock.now();
    const file: StoredFile = { ...facts, created_at: now, expires_at: now + ttlMs };
    const { id, purpose } = file;
    const commands = redis.multi().set(keys.file(tenant, id), JSON.stringify(file), 'PX', ttlMs);
    for (const key of purpose ? listsOf(keys, tenant, purpose) : [])
      commands
        .zadd(key, now, id)
        .zremrangebyscore(key, '-inf', now - ttlMs)
        .pexpire(key, ttlMs);
    await commands.exec();
    return file;
  }

  /** Makes the output of a batch a file. */
  async keepOutput(
    tenant: TenantId,
    id: FileId,
    { name, batch }: Required<Pick<StoredFile, 'name' | 'batch'>>,
  ): Promise<void> {
    // They are written while they are read, with links that are signed then, and counted when that is first done.
    const unknown = { bytes: 0, sha256: '', metadata: {} };
    await this.#keep(tenant, {
      ...{ id, name, content_type: 'application/jsonl', ...unknown },
      ...{ batch, purpose: 'batch_output' },
    });
  }

  /** Keeps the size of a file that was made before its size was known. Does nothing when the file is gone. */
  async noteBytes(tenant: TenantId, file: StoredFile, bytes: number): Promise<void> {
    const { redis, keys } = this.#options;
    await redis.set(keys.file(tenant, file.id), JSON.stringify({ ...file, bytes }), 'KEEPTTL', 'XX');
  }

  /** Files with a purpose, from the one after `after`. Throws `not-found` for an `after` that is not one of them. */
  async page(
    tenant: TenantId,
    { purpose, order, limit, after }: FileQuery,
  ): Promise<{ readonly files: readonly StoredFile[]; readonly hasMore: boolean }> {
    const { redis, keys, clock, ttlMs } = this.#options;
    const key = keys.filesOf(tenant, purpose);
    await redis.zremrangebyscore(key, '-inf', clock.now() - ttlMs);
    const isNewestFirst = order === 'desc';
    const rankOf = (id: string) => (isNewestFirst ? redis.zrevrank(key, id) : redis.zrank(key, id));
    const rank = after === undefined ? -1 : await rankOf(after);
    if (rank === null) throw new LehrError('not-found', 'There is no file with the id of `after`.');
    const [from, to] = [rank + 1, rank + 1 + limit];
    const ids = isNewestFirst ? await redis.zrevrange(key, from, to) : await redis.zrange(key, from, `${to}`);
    const shown = ids.slice(0, limit) as FileId[];
    const texts = shown.length > 0 ? await redis.mget(shown.map((id) => keys.file(tenant, id))) : [];
    const files = texts.flatMap((text) => (text === null ? [] : [FileSchema.parse(JSON.parse(text))]));
    return { files, hasMore: ids.length > limit };
  }

  /** Throws the same `not-found` for an id that is malformed, unknown, expired or of another tenant. */
  async find(tenant: TenantId, id: string): Promise<StoredFile> {
    const { redis, keys } = this.#options;
    const text = isFileId(id) ? await redis.get(keys.file(tenant, id)) : null;
    if (text !== null) return FileSchema.parse(JSON.parse(text));
    throw new LehrError('not-found', 'There is no such file. It may have expired.');
  }

  /** The first bytes of a file, at most so many; none of one that is gone. */
  async beginning(tenant: TenantId, { id }: StoredFile, most: number): Promise<Uint8Array> {
    const chunks: Uint8Array[] = [];
    let length = 0;
    const object = await this.#options.store.get(fileKey(tenant, id));
    // Leaving the loop cancels the body.
    for await (const chunk of object?.body ?? []) {
      chunks.push(chunk);
      length += chunk.byteLength;
      if (length >= most) break;
    }
    return Buffer.concat(chunks).subarray(0, most);
  }

  /** What was uploaded. Rejects with `gone` when it has been deleted. */
  async open(tenant: TenantId, file: StoredFile): Promise<ReadableStream<Uint8Array>> {
    if (file.parts === undefined) return this.#body(fileKey(tenant, file.id));
    return ReadableStream.from(this.#bodies(partKeys(tenant, file)));
  }

  async *#bodies(keys: readonly ObjectKey[]): AsyncGenerator<Uint8Array> {
    for (const key of keys) yield* await this.#body(key);
  }

  async #body(key: ObjectKey): Promise<ReadableStream<Uint8Array>> {
    const object = await this.#options.store.get(key);
    if (object) return object.body;
    throw new LehrError('gone', 'The content of this file has been deleted.');
  }

  async delete(tenant: TenantId, file: StoredFile): Promise<void> {
    const { redis, keys, store, storage } = this.#options;
    const { id, purpose } = file;
    const objects = [fileKey(tenant, id), ...partKeys(tenant, file)];
    await store.deleteMany(objects);
    await redis.del(keys.file(tenant, id));
    for (const key of purpose ? listsOf(keys, tenant, purpose) : []) await redis.zrem(key, id);
    await storage.free(tenant, ...objects);
  }
}

export interface FileQuery {
  readonly purpose: string | undefined;
  readonly order: 'asc' | 'desc';
  readonly limit: number;
  readonly after: string | undefined;
}

const listsOf = (keys: Keys, tenant: TenantId, purpose: string): string[] => [
  keys.filesOf(tenant),
  keys.filesOf(tenant, purpose),
];

/** The content type that a client sends can be any text. Nothing relies on it: jobs detect the format from the bytes. */
export const storableType = (sent: string): string =>
  isContentType(sent) ? sent : 'application/octet-stream';

export const fileKey = (tenant: TenantId, id: FileId): ObjectKey => toObjectKey(`in/${tenant}/${id}`);
