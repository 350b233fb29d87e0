/**
 * Requests to addresses that callers choose: webhooks, and inputs by URL. Every request is checked, from the text of the URL to
 * the address of the socket, and limited in time and size. A check that cannot be made refuses the request.
 */
import { lookup, Resolver } from 'node:dns/promises';
import {
  type ClientRequest,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
} from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { type AllowList, parseAllowList } from './addresses.ts';
import { EgressError, Guard, type Target } from './guard.ts';

export interface EgressOptions {
  /** Hosts and ranges that may be private. */
  readonly allow?: AllowList;
  readonly resolve?: Resolve;
}

export interface RequestLimits {
  /** For the whole request: resolving the name, connecting, the complete answer. */
  readonly timeoutMs: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Aborting it ends the request, which then rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

export interface PostOptions extends RequestLimits {
  /** Sent unchanged. */
  readonly body: Uint8Array;
  /** The rest of a longer answer is not read. */
  readonly maxAnswerBytes: number;
}

export interface GetOptions extends RequestLimits {
  /** The body rejects with `too-large` beyond this. */
  readonly maxBytes: number;
}

export interface Answer {
  /** Any status; a redirect is returned and not followed. */
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
}

export interface Egress {
  /** Throws EgressError `refused` for a URL that requests may not go to. Makes no DNS lookup. */
  check(url: string): void;
  /** Rejects with EgressError. */
  post(url: string, options: PostOptions): Promise<Answer & { readonly body: Buffer }>;
  /**
   * Resolves with the head. The body is read as it arrives and rejects with EgressError, like the call itself. A body that is
   * not read is cut off when the time is up.
   */
  get(url: string, options: GetOptions): Promise<Answer & { readonly body: AsyncIterable<Uint8Array> }>;
}

const USER_AGENT = 'lehr/1';

export function createEgress({ allow = parseAllowList(''), resolve }: EgressOptions = {}): Egress {
  const guard = new Guard(allow);
  const addressesOf = resolve ?? systemResolve();

  const open = async (url: string, outgoing: Outgoing, deadline: Deadline): Promise<IncomingMessage> => {
    const target = guard.target(url);
    const addresses = await resolved(target, allow.coversAll, addressesOf, deadline);
    guard.check(target, addresses);
    const headers = { ...outgoing.headers, 'user-agent': USER_AGENT, 'accept-encoding': 'identity' };
    return send(target, addresses, { ...outgoing, headers }, deadline.signal);
  };

  return {
    check: (url) => {
      guard.target(url);
    },

    post: async (url, { headers = {}, body, timeoutMs, maxAnswerBytes, signal }) => {
      const deadline = new Deadline(timeoutMs, signal);
      try {
        const answer = await open(url, { method: 'POST', headers, body }, deadline);
        return { ...headOf(answer), body: await firstBytes(answer, maxAnswerBytes) };
      } catch (error) {
        throw deadline.explain(error);
      } finally {
        deadline.clear();
      }
    },

    get: async (url, { headers = {}, maxBytes, timeoutMs, signal }) => {
      const deadline = new Deadline(timeoutMs, signal);
      try {
        const answer = await open(url, { method: 'GET', headers }, deadline);
        answer.once('close', () => deadline.clear());
        return { ...headOf(answer), body: bounded(answer, maxBytes, deadline) };
      } catch (error) {
        deadline.clear();
        throw deadline.explain(error);
      }
    },
  };
}

/** An unknown name is refused in the same way as a forbidden one. */
async function resolved(
  { host, literal, trusted }: Target,
  mayBeLocal: boolean,
  resolve: Resolve,
  deadline: Deadline,
): Promise<readonly string[]> {
  if (literal) return [host];
  try {
    return await deadline.race(resolve(host, trusted || mayBeLocal, deadline.signal));
  } catch (error) {
    if (deadline.signal.aborted) throw error;
    throw new EgressError('refused', error);
  }
}

const headOf = ({ statusCode = 0, headers }: IncomingMessage): Answer => ({ status: statusCode, headers });

async function firstBytes(answer: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    bytes += chunk.byteLength;
    // Leaving the loop destroys the socket.
    if (bytes >= maxBytes) break;
  }
  return Buffer.concat(chunks).subarray(0, maxBytes);
}

async function* bounded(
  answer: IncomingMessage,
  maxBytes: number,
  deadline: Deadline,
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  try {
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      bytes += chunk.byteLength;
      if (bytes > maxBytes) throw new EgressError('too-large');
      yield chunk;
    }
  } catch (error) {
    throw deadline.explain(error);
  }
}

interface Outgoing {
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
}

const MAX_HEADER_BYTES = 16 * 1024;

/**
 * Sends one HTTP request over a connection that can only go to the checked addresses.
 * Resolves with the head of the answer. Follows no redirect, uses no proxy and keeps no connection, so that every request is
 * checked. The Host header and the TLS name are those of the URL.
 */
function send(
  { url, host }: Target,
  addresses: readonly string[],
  { method, headers, body }: Outgoing,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const isTls = url.protocol === 'https:';
  return new Promise((resolve, reject) => {
    const request: ClientRequest = (isTls ? httpsRequest : httpRequest)({
      protocol: url.protocol,
      hostname: host,
      port: url.port === '' ? (isTls ? 443 : 80) : Number(url.port),
      path: `${url.pathname}${url.search}`,
      method,
      headers: { ...headers, host: url.host, ...(body && { 'content-length': body.byteLength }) },
      agent: false,
      lookup: pinned(addresses),
      maxHeaderSize: MAX_HEADER_BYTES,
      rejectUnauthorized: true,
      signal,
    });
    request.once('response', resolve);
    // This listener stays: an abort while the body is read is also an error of the request.
    request.on('error', reject);
    request.once('close', () => reject(new Error('closed without an answer')));
    request.end(body);
  });
}

/** Answers every DNS lookup of a connection with the checked addresses, so that the name is not resolved a second time. */
function pinned(addresses: readonly string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_host, options, callback) => {
    if (options.all) callback(null, all);
    else callback(null, all[0].address, all[0].family);
  };
}

/** One time limit for a whole request: resolving the name, connecting, and reading the complete answer. */
class Deadline {
  readonly #controller = new AbortController();
  readonly #timer: NodeJS.Timeout;
  readonly #outer: AbortSignal | undefined;
  readonly #abort = (): void => this.#controller.abort();
  #expired = false;

  /** Aborting `outer` ends the request early; it then rejects with the reason of `outer`. */
  constructor(ms: number, outer?: AbortSignal) {
    this.#timer = setTimeout(() => {
      this.#expired = true;
      this.#controller.abort();
    }, ms);
    this.#outer = outer;
    if (outer?.aborted) this.#abort();
    else outer?.addEventListener('abort', this.#abort, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Must be called when the request is over, also after a failure. */
  clear(): void {
    clearTimeout(this.#timer);
    this.#outer?.removeEventListener('abort', this.#abort);
  }

  /** Waits for work that cannot be aborted, but no longer than the time left. */
  async race<T>(work: Promise<T>): Promise<T> {
    this.signal.throwIfAborted();
    let stop: () => void = () => {};
    const aborted = new Promise<never>((_, reject) => {
      stop = () => reject(this.signal.reason);
      this.signal.addEventListener('abort', stop, { once: true });
    });
    try {
      return await Promise.race([work, aborted]);
    } finally {
      this.signal.removeEventListener('abort', stop);
    }
  }

  /** The error to report: an EgressError as it is, else a timeout, the caller's abort reason, or a broken connection. */
  explain(error: unknown): unknown {
    if (error instanceof EgressError) return error;
    if (this.#expired) return new EgressError('timeout', error);
    if (this.#outer?.aborted) return this.#outer.reason;
    return new EgressError('unreachable', error);
  }
}

/** All addresses of a name; rejects when there is none. `trusted`: the name is in the operator's allow-list. */
export type Resolve = (name: string, trusted: boolean, signal: AbortSignal) => Promise<readonly string[]>;

const QUERY_TIMEOUT_MS = 2000;
const TRIES = 2;

/**
 * Trusted names use the system's lookup, /etc/hosts included. All other names are sent to the name servers directly, because
 * the system's lookup would block one of Node's four threads for as long as a hostile name server wants. `servers` replaces
 * the name servers of the system.
 */
export function systemResolve(servers?: readonly string[]): Resolve {
  return async (name, trusted, signal) => {
    if (trusted) return (await lookup(name, { all: true })).map(({ address }) => address);
    const resolver = new Resolver({ timeout: QUERY_TIMEOUT_MS, tries: TRIES });
    if (servers) resolver.setServers(servers);
    const cancel = (): void => resolver.cancel();
    signal.addEventListener('abort', cancel);
    try {
      return await bothFamilies(resolver, name);
    } finally {
      signal.removeEventListener('abort', cancel);
    }
  };
}

/** One address family is enough: many hosts have only one, and some name servers answer with an error instead of "none". */
async function bothFamilies(resolver: Resolver, name: string): Promise<string[]> {
  const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
  const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  if (addresses.length > 0) return addresses;
  throw answers.find((answer) => answer.status === 'rejected')?.reason ?? new Error(`${name} has no address`);
}
