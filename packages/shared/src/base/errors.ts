/**
 * The error classes of Lehr. LehrError has a code of a closed list, a cause, and whether a retry makes sense; the API maps the code to an
 * HTTP status, and the worker stores it with the job that failed. ConfigError ends a program before it serves.
 */

interface CodeFacts {
  /** HTTP status of a response with this error. */
  readonly status: number;
  readonly title: string;
  /** Whether the same request or job may succeed when it is retried unchanged. */
  readonly retryable: boolean;
}

export const ERROR_CODES = {
  // A request that is refused.
  'invalid-request': { status: 400, title: 'Invalid request', retryable: false },
  unauthenticated: { status: 401, title: 'Not authenticated', retryable: false },
  forbidden: { status: 403, title: 'Not allowed', retryable: false },
  'not-found': { status: 404, title: 'Not found', retryable: false },
  'model-not-found': { status: 404, title: 'Model not found', retryable: false },
  'method-not-allowed': { status: 405, title: 'Method not allowed', retryable: false },
  'too-slow': { status: 408, title: 'Upload too slow', retryable: true },
  conflict: { status: 409, title: 'Conflict', retryable: false },
  gone: { status: 410, title: 'Gone', retryable: false },
  'too-large': { status: 413, title: 'Too large', retryable: false },
  'unsupported-media': { status: 415, title: 'Unsupported media type', retryable: false },
  'invalid-input': { status: 422, title: 'Invalid input', retryable: false },
  'idempotency-mismatch': { status: 422, title: 'Idempotency key reused', retryable: false },
  'rate-limited': { status: 429, title: 'Too many requests', retryable: true },
  overloaded: { status: 503, title: 'Overloaded', retryable: true },
  unavailable: { status: 503, title: 'Temporarily unavailable', retryable: true },
  'hold-expired': { status: 504, title: 'Not finished within the wait', retryable: true },
  internal: { status: 500, title: 'Internal error', retryable: true },

  // A job that failed.
  'engine-crashed': { status: 500, title: 'The job crashed the engine', retryable: false },
  'engine-failed': { status: 500, title: 'The engine failed', retryable: true },
  'numeric-error': { status: 500, title: 'The model produced no valid numbers', retryable: false },
  'out-of-memory': { status: 500, title: 'Not enough device memory', retryable: true },
  'model-unavailable': { status: 503, title: 'The model could not be loaded', retryable: true },
  'storage-failed': { status: 503, title: 'The result could not be stored', retryable: true },
  'attempts-exhausted': { status: 500, title: 'Too many attempts', retryable: false },
  'run-too-long': { status: 504, title: 'Ran too long', retryable: false },
  'deadline-exceeded': { status: 504, title: 'Deadline passed', retryable: true },
  'invalid-audio': { status: 422, title: 'Not readable audio', retryable: false },
  'unsafe-picture': { status: 422, title: 'The picture was refused', retryable: false },
  'node-failed': { status: 500, title: 'A node of the workflow failed', retryable: false },
} as const satisfies Record<string, CodeFacts>;

export type ErrorCode = keyof typeof ERROR_CODES;

export interface FieldProblem {
  /** JSON pointer to the field, for example `/input/width`. */
  readonly pointer: string;
  /** What is wrong with its value and what is allowed. */
  readonly detail: string;
}

export interface LehrErrorOptions extends ErrorOptions {
  readonly problems?: readonly FieldProblem[];
  /** Seconds after which the caller may retry. */
  readonly retryAfterS?: number;
}

export class LehrError extends Error {
  override readonly name = 'LehrError';
  readonly code: ErrorCode;
  readonly problems: readonly FieldProblem[];
  readonly retryAfterS: number | undefined;

  constructor(code: ErrorCode, message: string, options: LehrErrorOptions = {}) {
    super(message, options);
    this.code = code;
    this.problems = options.problems ?? [];
    this.retryAfterS = options.retryAfterS;
  }

  get status(): number {
    return ERROR_CODES[this.code].status;
  }

  get title(): string {
    return ERROR_CODES[this.code].title;
  }

  get retryable(): boolean {
    return ERROR_CODES[this.code].retryable;
  }
}

/** The error itself if it is a LehrError; otherwise a LehrError with this code and the error as its cause. */
export function toLehrError(error: unknown, code: ErrorCode = 'internal'): LehrError {
  if (error instanceof LehrError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new LehrError(code, message, { cause: error });
}

/** The fields of an error that are sent to another process or stored with a job: the class itself cannot be. */
export interface PlainError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly problems?: readonly FieldProblem[];
}

/** `code` is for an error that is not a LehrError. */
export function toPlainError(error: unknown, code?: ErrorCode): PlainError {
  const { code: known, message, problems } = toLehrError(error, code);
  return { code: known, message, ...(problems.length > 0 && { problems }) };
}

/** One or more faults of the configuration, in one message. The programs print it without a stack. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(`Configuration is not usable:\n${faults.map(listItem).join('\n')}`);
    this.faults = faults;
  }
}

/** The further lines of a fault are indented below its first one. */
const listItem = (fault: string): string => `  - ${fault.replaceAll('\n', '\n    ')}`;

/** The default case of a switch over a union: the compiler refuses it unless all cases are handled. */
export function unreachable(value: never): never {
  throw new Error(`Unexpected value ${JSON.stringify(value)}. This is a bug in Lehr.`);
}
