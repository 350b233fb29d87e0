/** How an S3 store connects, and its errors. */
import { type S3ClientConfig, S3ServiceException } from '@aws-sdk/client-s3';
import { LehrError } from '../base/errors.ts';

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

export function clientConfig(options: S3StoreOptions): S3ClientConfig {
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

/**
 * The message names the server's or the socket's error but does not quote its text, which can contain the access key. The
 * cause has the text.
 */
export function storageFailed(what: string, error: unknown): LehrError {
  return new LehrError('storage-failed', `${what}: ${reason(error)}`, { cause: error });
}

function reason(error: unknown): string {
  if (error instanceof S3ServiceException) return `${error.name} (HTTP ${error.$metadata.httpStatusCode}).`;
  if (!(error instanceof Error)) return String(error);
  if ('code' in error && !(error instanceof LehrError)) return `${error.name} (${String(error.code)}).`;
  return error.name === 'Error' || error instanceof LehrError ? error.message : `${error.name}.`;
}

/**
 * At every start on Node 20 the SDK warns that it wants Node 22. The versions pinned in package.json still run on 20, and
 * this variable (aws/aws-sdk-js-v3#7983) silences only that warning.
 */
export function silenceNodeVersionWarning(): void {
  // biome-ignore lint/style/noProcessEnv: written, not read; the SDK reads this setting only from the environment.
  process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= 'true';
}
