/** One call over HTTP: its address, its key, its tries. Knows nothing of jobs. */
import { errorOf, LehrError } from './lehr-error.ts';
import { Patience } from './patience.ts';
import { pause, type RetryPolicy, retryDelayMs } from './retry.ts';
import { OPERATIONS, type Operations } from './wire.ts';

export interface CallOptions {
  /** Ends the call; it then rejects with the signal's reason. What the server has begun goes on. */
  readonly signal?: AbortSignal | undefined;
}

export interface TransportOptions {
  readonly url: string;
  readonly apiKey: string | undefined;
  readonly policy: RetryPolicy;
  /** Longest silence of the server before a try counts as failed. */
  readonly timeoutMs: number;
  readonly fetch: typeof fetch;
  /** Told of each failed try that another one follows. */
  readonly onRetry: ((error: LehrError) => void) | undefined;
}

export type OperationName = keyof Operations;
type Answer<Name extends OperationName> = Operations[Name]['answer'];

/** What of an operation is asked for. Only those parts are there that the operation takes. */
export type Ask<Name extends OperationName> = Part<'path', Operations[Name]['path']> &
  Part<'query', Operations[Name]['query']> &
  Part<'headers', Operations[Name]['headers']> &
  (Operations[Name]['body'] extends undefined ? unknown : { readonly body: Body<Operations[Name]['body']> });
type Part<Key extends string, Value> = keyof Value extends never
  ? unknown
  : Record<never, never> extends Value
    ? { readonly [K in Key]?: Value }
    : { readonly [K in Key]: Value };
/** A form is made anew for each try. */
type Body<Value> = Value extends FormData ? () => FormData : Value;

interface Loose {
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly body?: unknown;
}

export interface TryOptions extends CallOptions {
  /** Whether making the call twice is the same as making it once. */
  readonly repeatable: boolean;
  /** How long the server was asked to hold its answer. */
  readonly holdMs?: number;
  /** For deletions: a 404 after a try without an answer says that this try did it. */
  readonly missingIsDone?: boolean;
}

/** Nothing, or a proxy that got nothing: what was asked for may have been done. */
const UNANSWERED: readonly (number | undefined)[] = [undefined, 502, 504];

export class Transport {
  readonly #options: TransportOptions;

  constructor(options: TransportOptions) {
    this.#options = options;
  }

  get policy(): RetryPolicy {
    return this.#options.policy;
  }

  /** The answer's JSON; undefined when it has no body. */
  call<Name extends OperationName>(name: Name, ask: Ask<Name>, options: TryOptions): Promise<Answer<Name>> {
    const [url, init] = this.#request(name, ask as Loose);
    return this.fetch(url, init, options, async (response) => {
      const text = await response.text();
      return (text === '' ? undefined : parse(text, response)) as Answer<Name>;
    });
  }

  /**
   * The answer as soon as its head is there, for who reads the body himself: he tells `patience` of what he hears and ends it.
   * It lasts for `silenceMs`.
   */
  open<Name extends OperationName>(
    name: Name,
    ask: Ask<Name>,
    silenceMs: number,
    signal: AbortSignal | undefined,
  ): Promise<{ readonly response: Response; readonly patience: Patience }> {
    const [url, init] = this.#request(name, ask as Loose);
    return this.#tries({ repeatable: true, signal }, async () => {
      const patience = new Patience(silenceMs, signal);
      try {
        return { response: await this.#answer(url, init(), patience.signal, signal), patience };
      } catch (error) {
        patience.end();
        throw error;
      }
    });
  }

  /** As `call`, for any address; `read` is part of the try, so that a broken body is asked for again. */
  fetch<T>(
    url: string,
    init: () => RequestInit,
    options: TryOptions,
    read: (response: Response) => Promise<T>,
  ): Promise<T> {
    const { signal, holdMs = 0 } = options;
    return this.#tries(options, async () => {
      const patience = new Patience(this.#options.timeoutMs + holdMs, signal);
      try {
        const response = await this.#answer(url, init(), patience.signal, signal);
        return await read(response).catch((error) => Promise.reject(fault(error, patience.signal, signal)));
      } finally {
        patience.end();
      }
    });
  }

  async #tries<T>({ repeatable, signal, missingIsDone }: TryOptions, attempt: () => Promise<T>): Promise<T> {
    let unanswered = false;
    for (let tries = 1; ; tries += 1) {
      try {
        return await attempt();
      } catch (error) {
        if (!(error instanceof LehrError) || !repeatable) throw error;
        if (missingIsDone && unanswered && error.status === 404) return undefined as T;
        unanswered ||= UNANSWERED.includes(error.status);
        const delayMs = retryDelayMs(error, tries, this.#options.policy);
        if (delayMs === undefined) throw error;
        this.#options.onRetry?.(error);
        await pause(delayMs, signal);
      }
    }
  }

  async #answer(
    url: string,
    init: RequestInit,
    patience: AbortSignal,
    caller: AbortSignal | undefined,
  ): Promise<Response> {
    let response: Response;
    try {
      // A redirect would turn a POST into a GET: it is said, not followed.
      response = await this.#options.fetch(url, { redirect: 'manual', ...init, signal: patience });
    } catch (error) {
      throw fault(error, patience, caller);
    }
    const { status, headers } = response;
    if (status >= 400) throw await errorOf(response);
    if (status >= 300) {
      await response.body?.cancel();
      const message = `The server leads on to ${headers.get('location')}; is that the address to use?`;
      throw new LehrError('bad-answer', message, { status });
    }
    return response;
  }

  #request(name: OperationName, ask: Loose): [url: string, init: () => RequestInit] {
    const { method, path } = OPERATIONS[name];
    const filled = path.replace(/\{(\w+)\}/g, (_, part: string) =>
      encodeURIComponent(ask.path?.[part] ?? ''),
    );
    const query = new URLSearchParams(given(ask.query)).toString();
    const { apiKey, url } = this.#options;
    const headers = {
      accept: 'application/json',
      ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
      ...given(ask.headers),
    };
    const init = (): RequestInit => {
      const { body } = ask;
      if (body === undefined) return { method, headers };
      if (typeof body === 'function') return { method, headers, body: body() as FormData };
      return {
        method,
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      };
    };
    return [`${url}${filled}${query && `?${query}`}`, init];
  }
}

/** What a failed fetch comes down to: the caller's own abort, or a connection that failed. */
export function fault(error: unknown, patience: AbortSignal, caller: AbortSignal | undefined): unknown {
  if (caller?.aborted) return caller.reason;
  if (patience.aborted) return patience.reason;
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
    throw new LehrError('bad-answer', `The answer (${status}) is not JSON; is this the address of Lehr?`, {
      status,
      cause,
    });
  }
}

const given = (fields: Loose['query'] = {}): Record<string, string> =>
  Object.fromEntries(
    Object.entries(fields)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [name, String(value)]),
  );
