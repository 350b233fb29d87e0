/** Reads the objects below a prefix of a bucket that Lehr did not write itself, such as the files of a model. */
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { GetObjectCommand, paginateListObjectsV2, S3Client, S3ServiceException } from '@aws-sdk/client-s3';
import { type ErrorCode, LehrError } from '../base/errors.ts';
import { silenceNodeVersionWarning } from './s3-client.ts';

export interface S3FolderOptions {
  readonly bucket: string;
  /** Empty, or ends in a slash. */
  readonly prefix: string;
  readonly region: string;
  /** For a server other than AWS. */
  readonly endpoint?: string | undefined;
  /** For one attempt, up to the headers of the answer, and for each pause after that (default 60,000). */
  readonly requestTimeoutMs?: number;
}

interface S3FolderEntry {
  /** Below the prefix. */
  readonly path: string;
  readonly bytes: number;
  readonly etag: string;
}

export interface S3Folder {
  /** `beginning`: only objects whose paths begin with it. */
  list(signal: AbortSignal, beginning?: string): Promise<readonly S3FolderEntry[]>;
  /** The object from this byte on. */
  read(path: string, offset: number, signal: AbortSignal): Promise<Readable>;
  text(path: string, signal: AbortSignal): Promise<string>;
}

const CONNECTION_TIMEOUT_MS = 5_000;
const DEFAULT_REQUEST_TIMEOUT_MS = 60_000;

/** Permissions: s3:ListBucket on the bucket, s3:GetObject on the objects. */
export function openS3Folder({ bucket, prefix, ...options }: S3FolderOptions): S3Folder {
  silenceNodeVersionWarning();
  const { region, endpoint, requestTimeoutMs = DEFAULT_REQUEST_TIMEOUT_MS } = options;
  const client = new S3Client({
    region,
    ...(endpoint !== undefined && { endpoint, forcePathStyle: true }),
    // The default would check a checksum that some servers do not send.
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout: CONNECTION_TIMEOUT_MS,
      requestTimeout: requestTimeoutMs,
      socketTimeout: requestTimeoutMs,
      // Without this the SDK only logs a warning and keeps waiting.
      throwOnRequestTimeout: true,
    },
  });
  const read = async (path: string, offset: number, signal: AbortSignal): Promise<Readable> => {
    const range = offset > 0 ? { Range: `bytes=${offset}-` } : {};
    const command = new GetObjectCommand({ Bucket: bucket, Key: `${prefix}${path}`, ...range });
    try {
      const { Body } = await client.send(command, { abortSignal: signal });
      if (Body instanceof Readable) return Body;
      throw new Error('The SDK gave no Node stream. This is a bug in Lehr.');
    } catch (error) {
      signal.throwIfAborted();
      throw failed(`s3://${bucket}/${prefix}${path}`, error);
    }
  };
  return {
    async list(signal, beginning = '') {
      const entries: S3FolderEntry[] = [];
      try {
        const request = { Bucket: bucket, Prefix: `${prefix}${beginning}` };
        for await (const { Contents = [] } of paginateListObjectsV2({ client }, request, {
          abortSignal: signal,
        })) {
          for (const { Key = '', Size = 0, ETag = '' } of Contents) {
            // Consoles create an empty object for a folder.
            if (!Key.endsWith('/')) entries.push({ path: Key.slice(prefix.length), bytes: Size, etag: ETag });
          }
        }
        return entries;
      } catch (error) {
        signal.throwIfAborted();
        throw failed(`s3://${bucket}/${prefix}`, error);
      }
    },
    read,
    async text(path, signal) {
      const body = await read(path, 0, signal);
      return text(body).catch((error: unknown) => {
        signal.throwIfAborted();
        throw failed(`s3://${bucket}/${prefix}${path}`, error);
      });
    },
  };
}

/** The message does not quote the server's text, which can contain the access key. */
function failed(what: string, error: unknown): LehrError {
  const status = error instanceof S3ServiceException ? error.$metadata.httpStatusCode : undefined;
  const name = error instanceof Error ? error.name : String(error);
  const reason = status === undefined ? name : `${name} (HTTP ${status})`;
  return new LehrError(codeOf(status, name), `${what} cannot be read: ${reason}.`, { cause: error });
}

function codeOf(status: number | undefined, name: string): ErrorCode {
  if (name === 'CredentialsProviderError') return 'unauthenticated';
  switch (status) {
    case 401:
      return 'unauthenticated';
    case 403:
      return 'forbidden';
    case 404:
      return 'not-found';
    case 416:
      return 'conflict';
    case 429:
      return 'rate-limited';
    default:
      return status !== undefined && status < 500 && status >= 400 ? 'model-unavailable' : 'unavailable';
  }
}
