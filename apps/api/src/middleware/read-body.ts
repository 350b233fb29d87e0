/** Reads JSON bodies within limits of bytes and shape, before any route sees them. */
import type { Context, MiddlewareHandler } from 'hono';
import { matchedRoutes } from 'hono/route';
import type { InlineAudio } from '../bodies/inline-audio.ts';
import { checkJsonShape } from '../bodies/json-shape.ts';
import type { LargeBodies } from '../bodies/large-bodies.ts';
import { TenantTurns } from '../bodies/tenant-turns.ts';
import type { ApiEnv } from './api-env.ts';
import { limitBody } from './limit-body.ts';

/** Parsed on the event loop up to this size; without its inline audio no body may be larger. */
export const MAX_JSON_BYTES = 1024 * 1024;
/** Room for 11 MB of audio in base64. */
export const MAX_LARGE_JSON_BYTES = 15 * 1024 * 1024;

export interface ReadBodyOptions {
  readonly largeBodies: LargeBodies;
  /** Whether a body of this path may carry inline audio, so that it may be large. */
  readonly mayBeLarge: (path: string) => boolean;
  /** Paths whose route reads the body by itself. */
  readonly isSkipped: (path: string) => boolean;
}

export function readBody({ largeBodies, mayBeLarge, isSkipped }: ReadBodyOptions): MiddlewareHandler<ApiEnv> {
  const maxBytesOf = (path: string): number | undefined => {
    if (isSkipped(path)) return undefined;
    return mayBeLarge(path) ? MAX_LARGE_JSON_BYTES : MAX_JSON_BYTES;
  };
  const limit = limitBody(maxBytesOf);
  const turns = new TenantTurns();
  return async function readBody(c, next) {
    if (!hasRoute(c)) return next();
    return limit(c, async () => {
      if (!isSkipped(c.req.path) && isJson(c)) await read(c, largeBodies, turns);
      await next();
    });
  };
}

/** Without a route the answer is 404 or 405, whatever the body holds. Middleware matches every method. */
const hasRoute = (c: Context<ApiEnv>): boolean =>
  matchedRoutes(c).some(({ method }) => method === c.req.method);

const isJson = (c: Context<ApiEnv>): boolean =>
  /^application\/(?:[\w.-]+\+)?json\b/i.test(c.req.header('content-type') ?? '');

async function read(c: Context<ApiEnv>, largeBodies: LargeBodies, turns: TenantTurns): Promise<void> {
  const statedBytes = Number(c.req.header('content-length') ?? Number.NaN);
  if (statedBytes <= MAX_JSON_BYTES) {
    checkJsonShape(await c.req.text());
    return;
  }
  const { tenant } = c.var.caller;
  if (statedBytes > MAX_JSON_BYTES) {
    return turns.run(tenant, async () => parseLarge(c, await bytesOf(c), largeBodies));
  }
  // Without a stated length the size is known only when the body has been read, and a slow sender must not hold a turn.
  const body = await bytesOf(c);
  if (body.byteLength > MAX_JSON_BYTES) return turns.run(tenant, () => parseLarge(c, body, largeBodies));
  const text = new TextDecoder().decode(body);
  checkJsonShape(text);
  setText(c, text, []);
}

async function bytesOf(c: Context<ApiEnv>): Promise<Uint8Array> {
  const body = new Uint8Array(await c.req.arrayBuffer());
  c.req.bodyCache = {};
  return body;
}

async function parseLarge(c: Context<ApiEnv>, body: Uint8Array, largeBodies: LargeBodies): Promise<void> {
  const { text, audio } = await largeBodies.parse(body, MAX_JSON_BYTES);
  setText(c, text, audio);
}

/** What the validators of the routes parse. */
function setText(c: Context<ApiEnv>, text: string, audio: readonly InlineAudio[]): void {
  // Hono keeps promises here, though its type names what they resolve to.
  Object.assign(c.req.bodyCache, { text: Promise.resolve(text) });
  c.set('inlineAudio', audio);
}
