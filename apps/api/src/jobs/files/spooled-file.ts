/** A file on its way: in memory as long as it is no larger than an upload may be, and beyond that in parts in the store. */
import { createHash } from 'node:crypto';
import { type FileId, LehrError, type ObjectKey, type TenantId, toObjectKey } from '@lehr/shared';
import type { ObjectStore } from '@lehr/shared/objects';
import type { Caller } from '../../access/auth/authenticator.ts';
import type { StorageQuota } from '../space/storage-quota.ts';
import type { StreamedFile } from './multipart.ts';

const PART_BYTES = 8_000_000;
const DIGITS = 3;
const CONTENT_TYPE = 'application/octet-stream';

interface SpoolOptions {
  readonly store: ObjectStore;
  readonly storage: StorageQuota;
  readonly caller: Caller;
  readonly id: FileId;
  readonly field: string;
  /** The most that is held in memory. */
  readonly heldBytes: number;
  readonly maxBytes: number;
}

export class SpooledFile implements StreamedFile {
  readonly #options: SpoolOptions;
  readonly #hash = createHash('sha256');
  #chunks: Uint8Array[] = [];
  #held = 0;
  bytes = 0;
  parts = 0;

  constructor(options: SpoolOptions) {
    this.#options = options;
  }

  get id(): FileId {
    return this.#options.id;
  }

  get field(): string {
    return this.#options.field;
  }

  /** Rejects with `too-large`, `storage-failed` and QuotaError. */
  async write(chunk: Uint8Array): Promise<void> {
    if (chunk.byteLength === 0) return;
    const { field, heldBytes, maxBytes } = this.#options;
    this.bytes += chunk.byteLength;
    if (this.bytes > maxBytes) throw tooLarge(field, maxBytes);
    this.#hash.update(chunk);
    this.#chunks.push(chunk);
    this.#held += chunk.byteLength;
    if (this.#held > (this.parts === 0 ? heldBytes : PART_BYTES)) await this.#flush();
  }

  /** The whole file, when it has no parts. Throws `too-large` for one that has. */
  whole(): Buffer {
    const { field, heldBytes } = this.#options;
    if (this.parts > 0) throw tooLarge(field, heldBytes);
    return Buffer.concat(this.#chunks);
  }

  /** Stores what is held as the last part. Resolves with the digest of the file. */
  async finish(): Promise<string> {
    await this.#flush();
    return this.#hash.digest('hex');
  }

  async discard(): Promise<void> {
    const { store, storage, caller, id } = this.#options;
    const keys = partKeys(caller.tenant, { id, parts: this.parts });
    await store.deleteMany(keys);
    for (const key of keys) await storage.giveBack(caller.tenant, key);
  }

  async #flush(): Promise<void> {
    const { store, storage, caller, id } = this.#options;
    const all = Buffer.concat(this.#chunks);
    this.#chunks = [];
    this.#held = 0;
    for (let at = 0; at < all.byteLength; at += PART_BYTES) {
      const part = all.subarray(at, at + PART_BYTES);
      const key = partKey(caller.tenant, id, this.parts);
      await storage.putCounted(caller, key, part.byteLength, () =>
        store.put(key, part, { contentType: CONTENT_TYPE }),
      );
      this.parts += 1;
    }
  }
}

const partKey = (tenant: TenantId, id: FileId, part: number): ObjectKey =>
  toObjectKey(`in/${tenant}/${id}/part-${String(part).padStart(DIGITS, '0')}`);

export const partKeys = (
  tenant: TenantId,
  { id, parts = 0 }: { readonly id: FileId; readonly parts?: number | undefined },
): ObjectKey[] => Array.from({ length: parts }, (_, part) => partKey(tenant, id, part));

const tooLarge = (field: string, bytes: number): LehrError =>
  new LehrError('too-large', `The file may have at most ${bytes} bytes.`, {
    problems: [{ pointer: `/${field}`, detail: 'is too large' }],
  });
