/** The one error of this package: what went wrong, what the server said of it, and whether trying again makes sense. */
import type { JobError, Problem } from './wire.ts';

/** Codes of the server's problems, and what only a client can notice. */
export type LehrErrorCode =
  | JobError['code']
  /** No answer: the connection could not be made, or broke. */
  | 'connection-failed'
  /** The time you allowed is over. What was asked for may still happen. */
  | 'timed-out'
  /** An answer that is none of Lehr's. */
  | 'bad-answer'
  /** A webhook that was not signed with this secret, or is too old. */
  | 'invalid-signature'
  /** `run` waited for a job that was called off. */
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
  /** HTTP status of the answer; undefined when there was none. */
  readonly status: number | undefined;
  readonly title: string | undefined;
  /** The fields that were refused, each with what is allowed there. */
  readonly problems: readonly FieldProblem[];
  /** May the same call succeed if it is made again unchanged? */
  readonly retryable: boolean;
  /** How long the server asks to be left alone. */
  readonly retryAfterMs: number | undefined;
  /** What the server's log knows the request by. */
  readonly requestId: string | undefined;
  /** The job it is about, where that is known. */
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

/** Of answers that name no code: a proxy's, or another dialect's. */
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
/** A proxy's page is of no use in a message. */
const MAX_DETAIL_LENGTH = 500;

/** What an answer of 400 and above says. Never rejects: an unreadable body leaves the status to speak. */
export async function errorOf(response: Response): Promise<LehrError> {
  const { status, headers } = response;
  const text = await response.text().catch(() => '');
  const said = bodyOf(text);
  const code =
    (said.type?.startsWith(URN) ? (said.type.slice(URN.length) as LehrErrorCode) : undefined) ??
    CODE_OF_STATUS[status] ??
    'bad-answer';
  return new LehrError(code, said.detail ?? `The server answered ${status} ${response.statusText}`.trim(), {
    status,
    title: said.title,
    problems: said.errors,
    retryable: RETRYABLE.includes(status),
    retryAfterMs: retryAfterMs(headers.get('retry-after')),
    requestId: headers.get('x-request-id') ?? undefined,
  });
}

/** Lehr's own problem document, or the `error` of its OpenAI dialect, which some paths share. */
function bodyOf(text: string): Partial<Problem> {
  try {
    const body = JSON.parse(text) as Partial<Problem> & { error?: { message?: string } };
    const message = body.detail ?? body.error?.message;
    return typeof message === 'string' ? { ...body, detail: message } : {};
  } catch {
    const isPage = text.trimStart().startsWith('<');
    return text === '' || isPage ? {} : { detail: text.slice(0, MAX_DETAIL_LENGTH) };
  }
}

/** Seconds or a date (RFC 9110, 10.2.3), as ms from now. */
function retryAfterMs(value: string | null): number | undefined {
  if (value === null) return undefined;
  const ms = /^\d+(\.\d+)?$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}
