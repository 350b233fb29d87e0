/**
 * Requests to addresses that callers choose: webhooks, and inputs by URL. Every request is checked, from the text of the URL to
 * the address of the socket, and limited in time and size. A check that cannot be made refuses the request.
 */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { type AllowList, parseAllowList } from './allow-list.ts';
import { type Outgoing, send } from './connect.ts';
import { Deadline } from './deadline.ts';
import { EgressError } from './egress-error.ts';
import { Guard, type Target } from './guard.ts';
import { type Resolve, systemResolve } from './resolve.ts';

export interface EgressOptions {
  /** Hosts and ranges that may be private. */
  readonly allow?: AllowList;
  /** Tests and development only; see GuardOptions. */
  readonly allowPrivate?: boolean;
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

export function createEgress({ allow, allowPrivate = false, resolve }: EgressOptions = {}): Egress {
  const guard = new Guard({ allow: allow ?? parseAllowList(''), allowPrivate });
  const addressesOf = resolve ?? systemResolve();

  const open = async (url: string, outgoing: Outgoing, deadline: Deadline): Promise<IncomingMessage> => {
    const target = guard.target(url);
    const addresses = await resolved(target, allowPrivate, addressesOf, deadline);
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
  allowPrivate: boolean,
  resolve: Resolve,
  deadline: Deadline,
): Promise<readonly string[]> {
  if (literal) return [host];
  try {
    return await deadline.race(resolve(host, trusted || allowPrivate, deadline.signal));
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
