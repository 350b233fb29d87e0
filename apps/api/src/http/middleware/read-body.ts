/** Reads JSON bodies within limits of bytes and shape, before any route sees them. */
import type { Readable } from 'node:stream';
import { LehrError } from '@lehr/shared';
import type { Context, MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { matchedRoutes } from 'hono/route';
import type { BodyReads } from '../bodies/body-reads.ts';
import type { InlineAudio } from '../bodies/inline-audio.ts';
import { checkJsonShape } from '../bodies/json-shape.ts';
import type { LargeBodies } from '../bodies/large-bodies.ts';
import { TenantTurns } from '../bodies/tenant-turns.ts';
import { inactive } from '../fair-admission.ts';
import type { ApiEnv } from './api-env.ts';

/** Parsed on the event loop up to this size; without its inline audio no body may be larger. */
export const MAX_JSON_BYTES = 1024 * 1024;
/** Room for 11 MB of audio in base64. */
const MAX_LARGE_JSON_BYTES = 15 * 1024 * 1024;

interface ReadBodyOptions {
  readonly largeBodies: LargeBodies;
  readonly bodyReads: BodyReads;
  /** Whether a body of this path may carry inline audio, so that it may be large. */
  readonly mayBeLarge: (path: string) => boolean;
  /** Paths whose route reads the body by itself. */
  readonly isSkipped: (path: string) => boolean;
}

export function readBody(options: ReadBodyOptions): MiddlewareHandler<ApiEnv> {
  const { mayBeLarge, isSkipped } = options;
  const maxBytesOf = (c: Context<ApiEnv>): number | undefined => {
    if (isSkipped(c.req.path)) return undefined;
    // The memory for a large body is reserved before it is read, so its length must be known.
    return mayBeLarge(c.req.path) && statedLength(c) !== undefined ? MAX_LARGE_JSON_BYTES : MAX_JSON_BYTES;
  };
  const limit = limitBody(maxBytesOf);
  const turns = new TenantTurns();
  return async function readBody(c, next) {
    if (!hasRoute(c)) return next();
    return limit(c, async () => {
      if (!isSkipped(c.req.path) && isJson(c)) await read(c, options, turns);
      await next();
    });
  };
}

/** Without a route the answer is 404 or 405, whatever the body holds. Middleware matches every method. */
const hasRoute = (c: Context<ApiEnv>): boolean =>
  matchedRoutes(c).some(({ method }) => method === c.req.method);

const isJson = (c: Context<ApiEnv>): boolean =>
  /^application\/(?:[\w.-]+\+)?json\b/i.test(c.req.header('content-type') ?? '');

async function read(
  c: Context<ApiEnv>,
  { largeBodies, bodyReads }: ReadBodyOptions,
  turns: TenantTurns,
): Promise<void> {
  const { tenant } = c.get('caller');
  const length = statedLength(c);
  if (length !== undefined && length > MAX_JSON_BYTES) {
    const reading = turns.run(tenant, async () => {
      const body = await bodyReads.run(tenant, length, () => bytesOf(c, length));
      await parseLarge(c, body, largeBodies);
    });
    return inactive(c, reading);
  }
  const readText = (): Promise<string> => c.req.text();
  checkJsonShape(
    hasArrived(c)
      ? await readText()
      : await inactive(c, bodyReads.run(tenant, length ?? MAX_JSON_BYTES, readText)),
  );
}

/** Most bodies come with their headers and are in memory already, as every body is that no socket brings. */
const hasArrived = (c: Context<ApiEnv>): boolean => c.env?.incoming?.complete ?? true;

async function bytesOf(c: Context<ApiEnv>, length: number): Promise<Uint8Array<ArrayBuffer>> {
  const incoming = c.env?.incoming;
  // Hono would keep the chunks, join them and keep the result: the body several times.
  if (incoming) return readKnownLength(incoming, length);
  const body = new Uint8Array(await c.req.arrayBuffer());
  c.req.bodyCache = {};
  return body;
}

async function parseLarge(
  c: Context<ApiEnv>,
  body: Uint8Array<ArrayBuffer>,
  largeBodies: LargeBodies,
): Promise<void> {
  const { text, audio } = await largeBodies.parse(body, MAX_JSON_BYTES);
  setText(c, text, audio);
}

/** What the validators of the routes parse. */
function setText(c: Context<ApiEnv>, text: string, audio: readonly InlineAudio[]): void {
  // Hono keeps promises here, though its type names what they resolve to.
  Object.assign(c.req.bodyCache, { text: Promise.resolve(text) });
  c.set('inlineAudio', audio);
}

/**
 * Refuses a body that is larger than its limit, before all of it is read. A Content-Length is trusted, because the
 * server reads no more than that; a body without one is counted, which is slower (it needs a web Request).
 */
export function limitBody(limit: (c: Context<ApiEnv>) => number | undefined): MiddlewareHandler<ApiEnv> {
  const counted = new Map<number, MiddlewareHandler>();
  return async function limitBody(c, next) {
    if (c.req.method === 'GET' || c.req.method === 'HEAD') return next();
    const maxBytes = limit(c);
    if (maxBytes === undefined) return next();
    const length = statedLength(c);
    if (length !== undefined) {
      if (length > maxBytes) refuse(maxBytes);
      return next();
    }
    const count = counted.get(maxBytes) ?? bodyLimit({ maxSize: maxBytes, onError: () => refuse(maxBytes) });
    counted.set(maxBytes, count);
    return count(c, next);
  };
}

/** The Content-Length; undefined for a body in chunks, whose length is known at its end. */
export const statedLength = (c: Context<ApiEnv>): number | undefined => {
  const length = c.req.header('content-length');
  return length === undefined || c.req.header('transfer-encoding') !== undefined ? undefined : Number(length);
};

function refuse(maxBytes: number): never {
  throw new LehrError('too-large', `The body may have at most ${maxBytes} bytes.`);
}

/**
 * Each byte is copied once. The buffer shares no memory, so that it can be transferred to a thread. Rejects with
 * `invalid-request` when the body ends early or its caller has hung up.
 */
export function readKnownLength(source: Readable, length: number): Promise<Uint8Array<ArrayBuffer>> {
  if (source.destroyed) return Promise.reject(brokenOff());
  const body = new Uint8Array(Buffer.allocUnsafeSlow(length).buffer);
  let received = 0;
  return new Promise((resolve, reject) => {
    const take = (chunk: Buffer): void => {
      // The server passes no more bytes than the stated length.
      body.set(chunk.subarray(0, length - received), received);
      received += chunk.length;
    };
    const stop = (): void => {
      source.off('data', take).off('end', end).off('close', fail);
    };
    const end = (): void => {
      stop();
      if (received === length) resolve(body);
      else reject(brokenOff());
    };
    const fail = (): void => {
      stop();
      reject(brokenOff());
    };
    // A caller that hangs up makes an error and then `close`.
    source.on('error', () => {});
    source.on('data', take).once('end', end).once('close', fail);
  });
}

const brokenOff = (): LehrError => new LehrError('invalid-request', 'The body ends before it is complete.');
