/**
 * GET requests to a hub or a file server: redirects without the token, and each refusal as an error that says whether it
 * may pass.
 */
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { LehrError } from '../../base/errors.ts';

export interface GetOptions {
  readonly signal: AbortSignal;
  /** Sent to the first host only. */
  readonly token?: string | undefined;
  /** The first byte wanted. */
  readonly offset?: number;
}

const MAX_REDIRECTS = 5;
const MAX_TEXT_BYTES = 16 * 1024 * 1024;
const USER_AGENT = 'lehr';

/** Resolves with an answer of 200 or 206. Throws `unavailable` or `rate-limited` for what may pass, other codes for what will not. */
export async function get(url: string, options: GetOptions): Promise<Response> {
  let target = new URL(url);
  let { token } = options;
  for (let hops = 0; hops <= MAX_REDIRECTS; hops++) {
    const response = await request(target, token, options);
    const location = response.headers.get('location');
    if (response.status < 300 || response.status >= 400 || location === null) return accepted(response, url);
    await response.body?.cancel();
    const next = new URL(location, target);
    if (target.protocol === 'https:' && next.protocol !== 'https:') {
      throw new LehrError('model-unavailable', `${target.host} redirects to an address without TLS.`);
    }
    // The token is for the first host; the files lie on another one, behind a link that is signed.
    if (next.origin !== target.origin) token = undefined;
    target = next;
  }
  throw new LehrError('model-unavailable', `${url} redirects more than ${MAX_REDIRECTS} times.`);
}

async function request(
  url: URL,
  token: string | undefined,
  { signal, offset = 0 }: GetOptions,
): Promise<Response> {
  try {
    return await fetch(url, {
      redirect: 'manual',
      signal,
      headers: {
        'user-agent': USER_AGENT,
        // A compressed body would have other bytes than its digest.
        'accept-encoding': 'identity',
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(offset > 0 && { range: `bytes=${offset}-` }),
      },
    });
  } catch (cause) {
    signal.throwIfAborted();
    throw connectionLost(url.host, cause);
  }
}

/** The connection could not be made, or broke. */
export function connectionLost(host: string, cause: unknown): LehrError {
  const inner = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause;
  const why = inner instanceof Error ? inner.message : String(inner);
  return new LehrError('unavailable', `${host} could not be reached or broke off: ${why}.`, { cause });
}

async function accepted(response: Response, url: string): Promise<Response> {
  const { status, headers } = response;
  if (status === 200 || status === 206) return response;
  await response.body?.cancel();
  const what = `${url} was answered with ${status}`;
  const hubCode = headers.get('x-error-code');
  const hubText = headers.get('x-error-message');
  const detail = hubText ? `: ${hubText}` : '';
  if (hubCode === 'GatedRepo') throw gated(url);
  switch (status) {
    case 401:
      throw new LehrError(
        'unauthenticated',
        `${what}${detail}. A repository that does not exist and a private one look the same: check the name, or set HF_TOKEN to a token that may read it.`,
      );
    case 403:
      throw new LehrError('forbidden', `${what}${detail}. The token of HF_TOKEN may not read it.`);
    case 404:
    case 410:
      throw new LehrError('not-found', `${what}${detail}.`);
    case 416:
      throw new LehrError('conflict', `${what}: the file is shorter than expected.`);
    case 429:
      throw new LehrError('rate-limited', `${what}${detail}.`, retryAfter(headers));
    case 408:
      throw new LehrError('unavailable', `${what}${detail}.`);
    default:
      if (status >= 500) throw new LehrError('unavailable', `${what}${detail}.`, retryAfter(headers));
      throw new LehrError('model-unavailable', `${what}${detail}.`);
  }
}

const gated = (url: string): LehrError =>
  new LehrError(
    'forbidden',
    `${url} is in a gated repository: accept its conditions on its page with your account, and set HF_TOKEN to a token of this account.`,
  );

/** Retry-After in seconds or as a date. */
function retryAfter(headers: Headers): { retryAfterS?: number } {
  const text = headers.get('retry-after');
  if (text === null) return {};
  const seconds = /^\d+$/.test(text) ? Number(text) : (Date.parse(text) - Date.now()) / 1000;
  return Number.isFinite(seconds) ? { retryAfterS: Math.max(0, seconds) } : {};
}

/** A JSON answer and its headers. */
export async function getJson(
  url: string,
  options: GetOptions,
): Promise<{ readonly value: unknown; readonly headers: Headers }> {
  const response = await get(url, options);
  const text = await readText(response, url);
  try {
    return { value: JSON.parse(text), headers: response.headers };
  } catch (cause) {
    throw new LehrError('model-unavailable', `${url} did not answer with JSON.`, { cause });
  }
}

async function readText(response: Response, url: string): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of bodyOf(response)) {
      bytes += (chunk as Buffer).byteLength;
      if (bytes > MAX_TEXT_BYTES) throw new LehrError('too-large', `${url} answers with more than 16 MiB.`);
      chunks.push(chunk as Buffer);
    }
  } catch (error) {
    throw error instanceof LehrError ? error : connectionLost(new URL(url).host, error);
  }
  return Buffer.concat(chunks).toString('utf8');
}

export const bodyOf = (response: Response): Readable =>
  response.body ? Readable.fromWeb(response.body as ReadableStream) : Readable.from([]);

/** Where the body of an answer to a request with `offset` begins. */
export function bodyOffset(response: Response, offset: number): number {
  if (response.status !== 206) return 0;
  const [, from] = /^bytes (\d+)-/.exec(response.headers.get('content-range') ?? '') ?? [];
  return from === undefined ? offset : Number(from);
}
