/** The only error class of this package: the code, the server's message, and whether a retry may succeed. */
import type { JobError, Problem } from './wire.ts';

/** The codes of the server's problem documents, and those of the client itself. */
export type LehrErrorCode =
  | JobError['code']
  /** No answer: the connection failed or broke. */
  | 'connection-failed'
  /** The timeout of the call has passed. The server may still complete the request. */
  | 'timed-out'
  /** The answer does not come from Lehr. */
  | 'bad-answer'
  /** A webhook that was not signed with this secret, or whose timestamp is too old. */
  | 'invalid-signature'
  /** `run` waited for a job that was canceled. */
  | 'job-canceled';

export interface FieldProblem {
  /** JSON pointer to a field of the body (`/input/width`), or `?name` of a query parameter. */
  readonly pointer: string;
  readonly detail: string;
}

export interface LehrErrorOptions extends ErrorOptions {
  readonly status?: number | undefined;
  readonly title?: string | undefined;
  readonly problems?: readonly FieldProblem[] | undefined;
  readonly requestId?: string | undefined;
  readonly retryable?: boolean | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly jobId?: string | undefined;
}

export class LehrError extends Error {
  override readonly name = 'LehrError';
  readonly code: LehrErrorCode;
  /** The HTTP status of the answer; undefined when there was no answer. */
  readonly status: number | undefined;
  readonly title: string | undefined;
  /** The invalid fields, each with what is allowed. */
  readonly problems: readonly FieldProblem[];
  /** Whether the same call may succeed later. */
  readonly retryable: boolean;
  /** The `Retry-After` of the answer. */
  readonly retryAfterMs: number | undefined;
  /** The id of the request in the server's log. */
  readonly requestId: string | undefined;
  /** The job that the call was about, where it is known. */
  readonly jobId: string | undefined;

  constructor(code: LehrErrorCode, message: string, options: LehrErrorOptions = {}) {
    super(message, options);
    this.code = code;
    this.status = options.status;
    this.title = options.title;
    this.problems = options.problems ?? [];
    this.retryable = options.retryable ?? false;
    this.retryAfterMs = options.retryAfterMs;
    this.requestId = options.requestId;
    this.jobId = options.jobId;
  }
}

/** For answers without a code of Lehr, such as those of a proxy. */
const CODE_OF_STATUS: Readonly<Record<number, LehrErrorCode>> = {
  400: 'invalid-request',
  401: 'unauthenticated',
  403: 'forbidden',
  404: 'not-found',
  405: 'method-not-allowed',
  409: 'conflict',
  410: 'gone',
  413: 'too-large',
  415: 'unsupported-media',
  422: 'invalid-input',
  429: 'rate-limited',
  500: 'internal',
  502: 'unavailable',
  503: 'unavailable',
  504: 'unavailable',
};
const RETRYABLE = [408, 429, 500, 502, 503, 504];
const URN = 'urn:lehr:problem:';
/** Keeps the text of an unknown server from filling the message. */
const MAX_DETAIL_LENGTH = 500;

/** The error of an answer with a status of 400 or above. Never rejects: without a readable body, it uses the status alone. */
export async function errorOf(response: Response): Promise<LehrError> {
  const { status, headers } = response;
  const text = await response.text().catch(() => '');
  const problem = problemOf(text);
  const code =
    (problem.type?.startsWith(URN) ? (problem.type.slice(URN.length) as LehrErrorCode) : undefined) ??
    CODE_OF_STATUS[status] ??
    'bad-answer';
  return new LehrError(
    code,
    problem.detail ?? `The server answered ${status} ${response.statusText}`.trim(),
    {
      status,
      title: problem.title,
      problems: problem.errors,
      retryable: RETRYABLE.includes(status),
      retryAfterMs: retryAfterMs(headers.get('retry-after')),
      requestId: headers.get('x-request-id') ?? undefined,
    },
  );
}

/** Reads Lehr's problem document, or the `error` of the OpenAI routes, which some paths share. A proxy's HTML page is ignored. */
function problemOf(text: string): Partial<Problem> {
  try {
    const body = JSON.parse(text) as Partial<Problem> & { error?: { message?: string } };
    const message = body.detail ?? body.error?.message;
    return typeof message === 'string' ? { ...body, detail: message } : {};
  } catch {
    const isPage = text.trimStart().startsWith('<');
    return text === '' || isPage ? {} : { detail: text.slice(0, MAX_DETAIL_LENGTH) };
  }
}

/** Converts seconds or a date (RFC 9110, section 10.2.3) to ms from now. */
function retryAfterMs(value: string | null): number | undefined {
  if (value === null) return undefined;
  const ms = /^\d+(\.\d+)?$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}
