/**
 * An ObjectStore in an S3 bucket, on AWS or any compatible server. This file and s3-folder.ts import the AWS SDK.
 *
 * Permissions: s3:PutObject, s3:GetObject, s3:DeleteObject on the objects and s3:ListBucket on the bucket. Without the
 * last one, S3 answers 403 for a missing object, which counts as a failure.
 */
import { Readable } from 'node:stream';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  type GetObjectCommandOutput,
  NoSuchKey,
  PutObjectCommand,
  paginateListObjectsV2,
  S3Client,
  type S3ClientConfig,
  S3ServiceException,
} from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { LehrError } from '../errors.ts';
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
import { contentDisposition } from './links.ts';
import { silenceNodeVersionWarning } from './node-version-warning.ts';
import type { LinkOptions, ObjectInfo, ObjectStore, PutOptions, StoredObject } from './store.ts';

/**
 * Credentials come from the SDK's default chain: environment, shared files, container or instance role. A link expires with
 * the session of the role that signed it, even if its own lifetime is longer.
 */
export interface S3StoreOptions {
  readonly bucket: string;
  readonly region: string;
  /** For a server other than AWS. */
  readonly endpoint?: string;
  /** The endpoint for readers of links, if it differs: the host name is part of the signature. */
  readonly publicEndpoint?: string;
  /** The bucket is in the path and not in the host name; default true with an endpoint. */
  readonly forcePathStyle?: boolean;
  /** For one attempt, from its first byte to the headers of the answer, and for each pause after that (default 20,000). */
  readonly requestTimeoutMs?: number;
  /** Attempts of one call, the first included, with the SDK's exponential backoff and jitter between them (default 5). */
  readonly maxAttempts?: number;
  /** For the whole `check()` (default 5,000): shorter than all attempts at a slow server, because probes are repeated. */
  readonly checkTimeoutMs?: number;
}

const DEFAULT_REQUEST_TIMEOUT_MS = 20_000;
const DEFAULT_MAX_ATTEMPTS = 5;
const CONNECTION_TIMEOUT_MS = 3_000;
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

function clientConfig(options: S3StoreOptions): S3ClientConfig {
  const timeout = options.requestTimeoutMs ?? DEFAULT_REQUEST_TIMEOUT_MS;
  // Other servers than AWS may refuse checksums that are not required; SigV4 covers the SHA-256 of the body anyway.
  const checksums = options.endpoint ? 'WHEN_REQUIRED' : 'WHEN_SUPPORTED';
  return {
    region: options.region,
    ...(options.endpoint && { endpoint: options.endpoint }),
    forcePathStyle: options.forcePathStyle ?? options.endpoint !== undefined,
    requestChecksumCalculation: checksums,
    responseChecksumValidation: checksums,
    retryMode: 'standard',
    maxAttempts: options.maxAttempts ?? DEFAULT_MAX_ATTEMPTS,
    requestHandler: {
      connectionTimeout: CONNECTION_TIMEOUT_MS,
      requestTimeout: timeout,
      socketTimeout: timeout,
      // Without this the SDK only logs a warning and keeps waiting.
      throwOnRequestTimeout: true,
    },
  };
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

/**
 * The message names the server's or the socket's error but does not quote its text, which can contain the access key. The
 * cause has the text.
 */
function storageFailed(what: string, error: unknown): LehrError {
  return new LehrError('storage-failed', `${what}: ${reason(error)}`, { cause: error });
}

function reason(error: unknown): string {
  if (error instanceof S3ServiceException) return `${error.name} (HTTP ${error.$metadata.httpStatusCode}).`;
  if (!(error instanceof Error)) return String(error);
  if ('code' in error && !(error instanceof LehrError)) return `${error.name} (${String(error.code)}).`;
  return error.name === 'Error' || error instanceof LehrError ? error.message : `${error.name}.`;
}
