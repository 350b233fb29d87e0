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
  /** Unix ms. */
  created_at: z.number(),
  expires_at: z.number(),
});
export type StoredFile = z.output<typeof FileSchema>;

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

export interface NewFile {
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
  async receive<T>(caller: Caller, request: Request, use: (body: Multipart) => Promise<T>): Promise<T> {
    const { storage, maxBytes } = this.#options;
    const stated = Number(request.headers.get('content-length') ?? 1);
    const space = await storage.space(caller, maxBytes, Math.min(stated, maxBytes));
    const leave = this.#enter(caller.tenant);
    try {
      return await use(await this.#read(request, space));
    } catch (error) {
      // A body that is too large only for the space of the tenant: the refusal names the limit.
      const isTooLarge = error instanceof LehrError && error.code === 'too-large';
      if (isTooLarge && space < maxBytes) await storage.space(caller, maxBytes, space + 1);
      throw error;
    } finally {
      leave();
    }
  }

  #read(request: Request, maxFileBytes: number): Promise<Multipart> {
    const { clock, pace } = this.#options;
    return readMultipart(request, { maxFileBytes, maxFiles: MAX_FILES }, new UploadPace(clock, pace));
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
    const { redis, keys, store, storage, clock, ttlMs } = this.#options;
    const { tenant } = caller;
    const id = newFileId();
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
    const now = clock.now();
    const stored: StoredFile = {
      id,
      name: file.name,
      content_type: contentType,
      bytes,
      sha256,
      metadata,
      created_at: now,
      expires_at: now + ttlMs,
    };
    await redis.set(keys.file(tenant, id), JSON.stringify(stored), 'PX', ttlMs);
    return stored;
  }

  /** Makes the output of a batch a file. */
  async keepOutput(
    tenant: TenantId,
    id: FileId,
    { name, batch }: Required<Pick<StoredFile, 'name' | 'batch'>>,
  ): Promise<void> {
    const { redis, keys, clock, ttlMs } = this.#options;
    const now = clock.now();
    const file: StoredFile = {
      id,
      name,
      content_type: 'application/jsonl',
      // They are written while they are read, with links that are signed then.
      bytes: 0,
      sha256: '',
      metadata: {},
      batch,
      created_at: now,
      expires_at: now + ttlMs,
    };
    await redis.set(keys.file(tenant, id), JSON.stringify(file), 'PX', ttlMs);
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

  async delete(tenant: TenantId, { id }: StoredFile): Promise<void> {
    const { redis, keys, store, storage } = this.#options;
    await store.delete(fileKey(tenant, id));
    await redis.del(keys.file(tenant, id));
    await storage.free(tenant, fileKey(tenant, id));
  }
}

/** The content type that a client sends can be any text. Nothing relies on it: jobs detect the format from the bytes. */
export const storableType = (sent: string): string =>
  isContentType(sent) ? sent : 'application/octet-stream';

export const fileKey = (tenant: TenantId, id: FileId): ObjectKey => toObjectKey(`in/${tenant}/${id}`);
