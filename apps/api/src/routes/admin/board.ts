/**
 * bull-board at /admin/queues, read-only: jobs are cancelled through the API, which keeps their records correct. There is one
 * BullMQ Queue per group over the API's connection; the groups are read on each request, so new ones appear and retired ones go.
 */
import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { HonoAdapter } from '@bull-board/hono';
import { serveStatic } from '@hono/node-server/serve-static';
import { LehrError, type Log, type Pause } from '@lehr/shared';
import type { Keys, Redis } from '@lehr/shared/redis';
import { Queue } from 'bullmq';
import { type Context, Hono, type MiddlewareHandler, type Next } from 'hono';
import { csrf } from 'hono/csrf';
import { methodNotAllowed } from 'hono/method-not-allowed';
import { secureHeaders } from 'hono/secure-headers';
import { auth } from 'hono/utils/basic-auth';
import { type Authenticator, bearerKey, type Caller } from '../../access/auth/authenticator.ts';
import { FailedLogins, Refusals } from '../../access/failed-logins.ts';
import type { SessionStore } from '../../access/session/session-store.ts';
import { answerErrors, answerMethodNotAllowed } from '../../dialects/answer-errors.ts';
import type { ApiEnv } from '../../http/middleware/api-env.ts';
import { actorOf } from '../../http/middleware/auth.ts';
import { findSession, isUnsafe, sessionCookie } from '../../http/middleware/session.ts';
import type { Api, ApiParts } from '../../parts.ts';

const PATH = '/admin/queues';

export function mountBoard(app: Api, parts: ApiParts): void {
  const { redis, keys, audit, pauses, clock, presenter, publicUrl, log } = parts;
  const adapter = new HonoAdapter(serveStatic).setBasePath(PATH);
  const board = createBullBoard({
    queues: [],
    serverAdapter: adapter,
    options: {
      uiConfig: {
        boardTitle: 'Lehr',
        hideDocsLink: true,
        // It would count BullMQ workers, which Lehr does not use; /v1/queues shows Lehr's workers.
        showWorkers: false,
        miscLinks: [{ text: 'API', url: presenter.url('/docs') }],
      },
    },
  });
  const shown = new Map<string, Queue>();
  let pausedTenants = '';

  app.use(
    '/admin/*',
    secureHeaders({
      contentSecurityPolicy: {
        defaultSrc: ["'self'"],
        styleSrc: ["'self'", "'unsafe-inline'"],
        imgSrc: ["'self'", 'data:'],
        fontSrc: ["'self'", 'data:'],
        frameAncestors: ["'none'"],
      },
    }),
    requireAdmin({
      ...parts,
      refusals: new Refusals(audit, clock, log),
      failedLogins: new FailedLogins(clock),
    }),
    // Behind a proxy the origin of the page is the public URL.
    csrf({ origin: (origin, c) => [new URL(c.req.url).origin, new URL(publicUrl).origin].includes(origin) }),
  );
  app.use(PATH, withoutOutsideLinks);
  app.use(`${PATH}/*`, withoutOutsideLinks);
  app.get(`${PATH}/`, (c) => c.redirect(PATH, 308));
  app.use(`${PATH}/api/*`, async function refreshGroups(_, next) {
    const [names, paused] = await Promise.all([redis.smembers(keys.groups), pauses.list()]);
    const groups = new Set(names);
    pausedTenants = inWords(paused);
    for (const name of groups) {
      if (shown.has(name)) continue;
      const queue = openQueue(name, redis, keys);
      shown.set(name, queue);
      const added = new BullMQAdapter(queue, { readOnlyMode: true });
      added.getDescription = () => pausedTenants;
      board.addQueue(added);
    }
    for (const [name, queue] of shown) {
      if (groups.has(name)) continue;
      shown.delete(name);
      board.removeQueue(name);
      // Its listeners on the shared connection go with it.
      void queue.close().catch(() => {});
    }
    await next();
  });
  mountApart(app, adapter, log);
}

/**
 * The paths of bull-board are such that Hono's fast router cannot hold them, and one such path makes it search all routes of the app in a
 * tree: 6 µs for each request in place of 0.1. So they are in an app of their own, which answers as ours does.
 */
function mountApart(app: Api, adapter: HonoAdapter, log: Log): void {
  const apart = new Hono<{ Bindings: { outer: Context<ApiEnv> } }>();
  const answerError = answerErrors(log);
  apart.onError((error, c) => answerError(error, c.env.outer));
  apart.notFound((c) => c.env.outer.notFound());
  apart.use(
    methodNotAllowed({
      app: apart,
      onMethodNotAllowed: (c, methods) => answerMethodNotAllowed(c.env.outer, methods),
    }),
  );
  // bull-board has its own copy of Hono's types.
  apart.route(PATH, adapter.registerPlugin() as unknown as Hono);
  app.on(['GET', 'POST', 'PUT', 'PATCH', 'DELETE'], [PATH, `${PATH}/*`], (c) =>
    apart.fetch(c.req.raw, { outer: c }),
  );
}

/** A link of the page's head to another server, such as the one of a font. */
const OUTSIDE_LINK = /<link\b[^>]*\bhref="https?:\/\/[^>]*>/g;

/** The policy of the page forbids such links, and the browser would report an error for each. */
async function withoutOutsideLinks(c: Context<ApiEnv>, next: Next): Promise<void> {
  await next();
  if (c.res.headers.get('content-type')?.startsWith('text/html') !== true) return;
  const page = (await c.res.text()).replace(OUTSIDE_LINK, '');
  const { status, headers } = c.res;
  const kept = new Headers(headers);
  kept.delete('content-length');
  c.res = new Response(page, { status, headers: kept });
}

/** Their jobs step out of the queues, so no list of the board has them. A paused model has BullMQ's own mark. */
function inWords(pauses: readonly Pause[]): string {
  const tenants = pauses.flatMap(({ tenant }) => tenant ?? []);
  return tenants.length === 0 ? '' : `Paused tenants, whose jobs are not listed here: ${tenants.join(', ')}`;
}

/** Only reads: it writes no metadata, and a failing connection does not end it. */
function openQueue(name: string, redis: Redis, keys: Keys): Queue {
  const queue = new Queue(name, {
    connection: redis,
    prefix: keys.prefix,
    skipVersionCheck: true,
    skipMetasUpdate: true,
  });
  queue.on('error', () => {});
  return queue;
}

const USER = 'admin';

interface AdminAuthParts {
  readonly authenticator: Authenticator;
  readonly sessions: SessionStore;
  readonly publicUrl: string;
  readonly refusals: Refusals;
  readonly failedLogins: FailedLogins;
}

/**
 * Requires a key with the scope `admin`: as a bearer token, as the password of the user `admin` in a browser, or as the one that
 * signed in to the studio. Other keys are noted in the audit log; a request without a key, such as the first one of a browser, is not.
 */
function requireAdmin(parts: AdminAuthParts): MiddlewareHandler<ApiEnv> {
  const { authenticator, sessions, refusals, failedLogins } = parts;
  const cookie = sessionCookie(parts.publicUrl);
  /** Requests that change something carry no token of the session here: the board is read-only, and checks the origin. */
  const callerOfSession = async (c: Context<ApiEnv>): Promise<Caller | undefined> =>
    isUnsafe(c.req.method) ? undefined : (await findSession(c, sessions, cookie))?.caller;
  const authenticated = async (key: string, address: string): Promise<Caller | undefined> => {
    try {
      return await authenticator.authenticate(key);
    } catch (error) {
      // Nothing is known about the password, for example because Redis is down.
      failedLogins.succeeded(address);
      throw error;
    }
  };
  return async function requireAdmin(c, next) {
    const address = actorOf(c).address ?? 'unknown';
    const basic = auth(c.req.raw);
    const key = basic?.username === USER ? basic.password : bearerKey(c.req.header('authorization'));
    if (key !== undefined) failedLogins.attempt(address);
    const caller = key === undefined ? await callerOfSession(c) : await authenticated(key, address);
    if (!caller) {
      if (key !== undefined || basic) refusals.note(actorOf(c), null);
      c.header('www-authenticate', 'Basic realm="Lehr", charset="UTF-8"');
      throw new LehrError('unauthenticated', `Sign in as "${USER}" with an API key as the password.`);
    }
    if (key !== undefined) failedLogins.succeeded(address);
    if (!caller.scopes.has('admin')) {
      refusals.note({ ...actorOf(c), keyId: caller.keyId }, caller.tenant);
      throw new LehrError('forbidden', 'This key does not have the right to administer.');
    }
    await next();
  };
}
