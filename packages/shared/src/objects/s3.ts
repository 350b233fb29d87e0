/**
 * An ObjectStore in an S3 bucket, on AWS or any compatible server. The files s3*.ts import the AWS SDK.
 *
 * Permissions: s3:PutObject, s3:GetObject, s3:DeleteObject on the objects and s3:ListBucket on the bucket. Without the
 * last one, S3 answers 403 for a missing object, which counts as a failure.
 */
import { Readable } from 'node:stream';
import {
  CopyObjectCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  type GetObjectCommandOutput,
  NoSuchKey,
  PutObjectCommand,
  paginateListObjectsV2,
  S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import type { ObjectKey } from '../base/ids.ts';
import { readableBody, sha256Hex } from './body.ts';
import { contentDisposition } from './links.ts';
import { pagesMadeBefore, removeMany } from './s3-bulk.ts';
import { clientConfig, type S3StoreOptions, silenceNodeVersionWarning, storageFailed } from './s3-client.ts';
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

const DEFAULT_CHECK_TIMEOUT_MS = 5_000;

/** Does not connect; the first call does. */
export function openS3Store(options: S3StoreOptions): ObjectStore {
  silenceNodeVersionWarning();
  return new S3Store(options);
}

class S3Store implements ObjectStore {
  readonly #bucket: string;
  readonly #checkTimeoutMs: number;
  readonly #client: S3Client;
  /** Signs links for the public host name; it never connects. */
  readonly #signer: S3Client;

  constructor(options: S3StoreOptions) {
    this.#bucket = options.bucket;
    this.#checkTimeoutMs = options.checkTimeoutMs ?? DEFAULT_CHECK_TIMEOUT_MS;
    this.#client = new S3Client(clientConfig(options));
    const endpoint = options.publicEndpoint ?? options.endpoint;
    // WHEN_REQUIRED, because the default would add x-amz-checksum-mode to every link, which some servers refuse.
    this.#signer = new S3Client({
      ...clientConfig({ ...options, ...(endpoint && { endpoint }) }),
      responseChecksumValidation: 'WHEN_REQUIRED',
    });
  }

  async put(key: ObjectKey, body: Uint8Array, options: PutOptions): Promise<ObjectInfo> {
    checkKey(key);
    checkContentType(options);
    const { contentType, signal } = options;
    signal?.throwIfAborted();
    const info = { key, bytes: body.byteLength, contentType, sha256: await sha256Hex(body) };
    const command = new PutObjectCommand({
      Bucket: this.#bucket,
      Key: key,
      // A Buffer, because a stream would be sent in chunks with a trailer, which some servers cannot read.
      Body: Buffer.from(body.buffer, body.byteOffset, body.byteLength),
      ContentType: contentType,
      Metadata: { sha256: info.sha256 },
    });
    // Otherwise the SDK hashes the whole body again for the signature, at once.
    command.middlewareStack.add(
      (next) => (args) => {
        const { headers } = args.request as { headers: Record<string, string> };
        headers['x-amz-content-sha256'] = info.sha256;
        return next(args);
      },
      { step: 'build' },
    );
    try {
      await this.#client.send(command, { abortSignal: signal });
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
      const found = await this.#client.send(new GetObjectCommand({ Bucket: this.#bucket, Key: key }));
      return storedObject(key, found, unreadable);
    } catch (error) {
      if (error instanceof NoSuchKey) return undefined;
      throw unreadable(error);
    }
  }

  async copy(from: ObjectKey, to: ObjectKey): Promise<boolean> {
    checkKey(from);
    checkKey(to);
    const command = new CopyObjectCommand({
      Bucket: this.#bucket,
      Key: to,
      CopySource: `${this.#bucket}/${from}`,
    });
    try {
      await this.#client.send(command);
      return true;
    } catch (error) {
      if (error instanceof S3ServiceException && error.name === 'NoSuchKey') return false;
      throw storageFailed(`Could not store ${to}`, error);
    }
  }

  async link(key: ObjectKey, options: LinkOptions = {}): Promise<string> {
    checkKey(key);
    const expiresIn = checkLifetimeS(options);
    const { filename } = options;
    const command = new GetObjectCommand({
      Bucket: this.#bucket,
      Key: key,
      ...(filename && { ResponseContentDisposition: contentDisposition(filename) }),
    });
    try {
      return await getSignedUrl(this.#signer, command, { expiresIn });
    } catch (error) {
      throw storageFailed(`Could not sign a link to ${key}`, error);
    }
  }

  async delete(key: ObjectKey): Promise<void> {
    checkKey(key);
    await this.#remove(key);
  }

  async deleteMany(keys: readonly ObjectKey[]): Promise<void> {
    for (const key of keys) checkKey(key);
    await removeMany(this.#client, this.#bucket, keys);
  }

  async *list(prefix: string): AsyncIterable<ObjectKey> {
    checkPrefix(prefix);
    try {
      const pages = paginateListObjectsV2({ client: this.#client }, { Bucket: this.#bucket, Prefix: prefix });
      for await (const { Contents = [] } of pages) {
        for (const { Key = '' } of Contents) {
          const key = asObjectKey(Key);
          if (key) yield key;
        }
      }
    } catch (error) {
      throw storageFailed(`Could not list ${prefix}`, error);
    }
  }

  listMadeBefore(before: number): AsyncIterable<readonly ObjectKey[]> {
    return pagesMadeBefore(this.#client, this.#bucket, before);
  }

  async check(): Promise<void> {
    const signal = AbortSignal.timeout(this.#checkTimeoutMs);
    try {
      await this.put(HEALTH_KEY, Buffer.alloc(0), { contentType: 'text/plain', signal });
      await this.#remove(HEALTH_KEY, signal);
    } catch (error) {
      const why = signal.aborted ? new Error(`no answer within ${this.#checkTimeoutMs} ms.`) : error;
      throw storageFailed(`The bucket ${this.#bucket} cannot take a write`, why);
    }
  }

  async #remove(key: ObjectKey, abortSignal?: AbortSignal): Promise<void> {
    try {
      await this.#client.send(new DeleteObjectCommand({ Bucket: this.#bucket, Key: key }), { abortSignal });
    } catch (error) {
      throw storageFailed(`Could not delete ${key}`, error);
    }
  }
}

function storedObject(
  key: ObjectKey,
  { Body, ContentLength, ContentType, Metadata }: GetObjectCommandOutput,
  unreadable: (error: unknown) => Error,
): StoredObject {
  const sha256 = Metadata?.sha256;
  if (!(Body instanceof Readable)) throw new Error('The SDK gave no Node stream. This is a bug in Lehr.');
  if (ContentLength === undefined || ContentType === undefined || sha256 === undefined) {
    Body.destroy();
    throw new Error('the object carries no type or SHA-256; it was not stored by Lehr.');
  }
  return {
    key,
    bytes: ContentLength,
    contentType: ContentType,
    sha256,
    body: readableBody(Body, unreadable),
  };
}
