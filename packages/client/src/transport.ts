/** One call over HTTP: its URL, its key, its timeout and its retries. It knows nothing of jobs. */
import { IdleTimeout } from './idle-timeout.ts';
import { errorOf, LehrError } from './lehr-error.ts';
import type { Answer, CallInput, Method, Operation, PathOf } from './operation.ts';
import { pause, type RetryPolicy, retryDelayMs } from './retry.ts';

export interface CallOptions {
  /** Ends the call, which then rejects with the signal's reason. What the server has begun continues. */
  readonly signal?: AbortSignal | undefined;
}

export interface TransportOptions {
  readonly url: string;
  readonly apiKey: string | undefined;
  readonly policy: RetryPolicy;
  /** An attempt fails when the server sends nothing for this long. */
  readonly timeoutMs: number;
  readonly fetch: typeof fetch;
  /** Called for each failed attempt that is followed by another one. */
  readonly onRetry: ((error: LehrError) => void) | undefined;
}

export interface CallPolicy extends CallOptions {
  /** Whether a second call has the same effect as one: only then is a failed call retried. */
  readonly idempotent: boolean;
  /** How long the server was asked to hold its answer. The timeout starts after it. */
  readonly holdMs?: number;
  /** For deletions: a 404 after an attempt without an answer means that this attempt succeeded. */
  readonly notFoundIsSuccess?: boolean;
}

interface Input {
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Query;
  readonly header?: Fields;
  readonly body?: object | (() => FormData);
}
type Fields = Readonly<Record<string, string | number | null | undefined>>;
type Query = Readonly<Record<string, Fields[string] | Fields>>;

/** No answer, or a proxy that got none: the server may have done the work. */
const UNANSWERED: readonly (number | undefined)[] = [undefined, 502, 504];

export class Transport {
  readonly #options: TransportOptions;

  constructor(options: TransportOptions) {
    this.#options = options;
  }

  get policy(): RetryPolicy {
    return this.#options.policy;
  }

  /** Returns the answer's JSON, or undefined when the answer has no body. */
  call<M extends Method, P extends PathOf<M>>(
    method: M,
    path: P,
    input: CallInput<Operation<M, P>>,
    policy: CallPolicy,
  ): Promise<Answer<Operation<M, P>>> {
    const [url, init] = this.#request(method, path, input);
    return this.fetch(url, init, policy, async (response) => {
      const text = await response.text();
      return (text === '' ? undefined : parse(text, response)) as Answer<Operation<M, P>>;
    });
  }

  /**
   * Returns the answer as soon as its headers are there; the caller reads the body. The caller restarts `timeout`, which lasts
   * `timeoutMs`, for each piece of the body, and ends it.
   */
  open<P extends PathOf<'get'>>(
    path: P,
    input: CallInput<Operation<'get', P>>,
    timeoutMs: number,
    signal: AbortSignal | undefined,
  ): Promise<{ readonly response: Response; readonly timeout: IdleTimeout }> {
    const [url, init] = this.#request('get', path, input);
    return this.#withRetries({ idempotent: true, signal }, async () => {
      const timeout = new IdleTimeout(timeoutMs, signal);
      try {
        return { response: await this.#send(url, init(), timeout.signal, signal), timeout };
      } catch (error) {
        timeout.end();
        throw error;
      }
    });
  }

  /** As `call`, for any URL. `read` is part of the attempt, so a body that breaks off is requested again. */
  fetch<T>(
    url: string,
    init: () => RequestInit,
    policy: CallPolicy,
    read: (response: Response) => Promise<T>,
  ): Promise<T> {
    const { signal, holdMs = 0 } = policy;
    return this.#withRetries(policy, async () => {
      const timeout = new IdleTimeout(this.#options.timeoutMs + holdMs, signal);
      try {
        const response = await this.#send(url, init(), timeout.signal, signal);
        return await read(response).catch((error) =>
          Promise.reject(failureOf(error, timeout.signal, signal)),
        );
      } finally {
        timeout.end();
      }
    });
  }

  async #withRetries<T>(
    { idempotent, signal, notFoundIsSuccess }: CallPolicy,
    attempt: () => Promise<T>,
  ): Promise<T> {
    let wasUnanswered = false;
    for (let count = 1; ; count += 1) {
      try {
        return await attempt();
      } catch (error) {
        if (!(error instanceof LehrError) || !idempotent) throw error;
        if (notFoundIsSuccess && wasUnanswered && error.status === 404) return undefined as T;
        wasUnanswered ||= UNANSWERED.includes(error.status);
        const delayMs = retryDelayMs(error, count, this.#options.policy);
        if (delayMs === undefined) throw error;
        this.#options.onRetry?.(error);
        await pause(delayMs, signal);
      }
    }
  }

  async #send(
    url: string,
    init: RequestInit,
    timeout: AbortSignal,
    caller: AbortSignal | undefined,
  ): Promise<Response> {
    let response: Response;
    try {
      // fetch would follow a redirected POST with a GET, so a redirect is an error here.
      response = await this.#options.fetch(url, { redirect: 'manual', ...init, signal: timeout });
    } catch (error) {
      throw failureOf(error, timeout, caller);
    }
    const { status, headers } = response;
    if (status >= 400) throw await errorOf(response);
    if (status >= 300) {
      await response.body?.cancel();
      const message = `The server redirects to ${headers.get('location')}. Use that address if it is Lehr.`;
      throw new LehrError('bad-answer', message, { status });
    }
    return response;
  }

  #request(method: Method, path: string, input: Input): [url: string, init: () => RequestInit] {
    const filled = path.replace(/\{(\w+)\}/g, (_, name: string) =>
      encodeURIComponent(input.path?.[name] ?? ''),
    );
    const query = new URLSearchParams(defined(flat(input.query))).toString();
    const { apiKey, url } = this.#options;
    const headers = {
      accept: 'application/json',
      ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
      ...defined(input.header),
    };
    const init = (): RequestInit => {
      const { body } = input;
      const request = { method: method.toUpperCase(), headers };
      if (body === undefined) return request;
      if (typeof body === 'function') return { ...request, body: body() };
      return {
        ...request,
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      };
    };
    return [`${url}${filled}${query && `?${query}`}`, init];
  }
}

/** Why a fetch failed: the caller's abort, the timeout, or the connection. */
export function failureOf(error: unknown, timeout: AbortSignal, caller: AbortSignal | undefined): unknown {
  if (caller?.aborted) return caller.reason;
  if (timeout.aborted) return timeout.reason;
  if (error instanceof LehrError) return error;
  const { message, cause } = error as Error & { cause?: Error };
  return new LehrError('connection-failed', `No answer: ${cause?.message || message}.`, {
    cause: error,
    retryable: true,
  });
}

function parse(text: string, { status }: Response): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new LehrError(
      'bad-answer',
      `The answer (${status}) is not JSON. Check that the URL is that of Lehr.`,
      {
        status,
        cause,
      },
    );
  }
}

/** A field of fields becomes a parameter for each of them: `metadata[order]`. */
const flat = (query: Query = {}): Fields =>
  Object.fromEntries(
    Object.entries(query).flatMap(([name, value]) =>
      typeof value === 'object' && value !== null
        ? Object.entries(value).map(([inner, each]) => [`${name}[${inner}]`, each])
        : [[name, value]],
    ),
  );

const defined = (fields: Fields = {}): Record<string, string> =>
  Object.fromEntries(
    Object.entries(fields)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [name, String(value)]),
  );
