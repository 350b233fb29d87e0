/**
 * bull-board at /admin/queues, read-only: jobs are cancelled through the API, which keeps their records correct. There is one
 * BullMQ Queue per group over the API's connection; the groups are read on each request, so new ones appear and retired ones go.
 */
import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { HonoAdapter } from '@bull-board/hono';
import { serveStatic } from '@hono/node-server/serve-static';
import type { Keys, Redis } from '@lehr/shared/redis';
import { Queue } from 'bullmq';
import type { Context, Hono, Next } from 'hono';
import { csrf } from 'hono/csrf';
import { secureHeaders } from 'hono/secure-headers';
import { FailedLogins, Refusals } from '../../access/failed-logins.ts';
import { answerErrors } from '../../dialects/answer-errors.ts';
import type { ApiEnv } from '../../http/middleware/api-env.ts';
import type { Api, ApiParts } from '../../parts.ts';
import { requireAdmin } from './admin-auth.ts';

const PATH = '/admin/queues';

export function mountBoard(app: Api, parts: ApiParts): void {
  const { redis, keys, audit, clock, presenter, publicUrl, log } = parts;
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
    const groups = new Set(await redis.smembers(keys.groups));
    for (const name of groups) {
      if (shown.has(name)) continue;
      const queue = openQueue(name, redis, keys);
      shown.set(name, queue);
      board.addQueue(new BullMQAdapter(queue, { readOnlyMode: true }));
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
  // bull-board has its own copy of Hono's types; at run time the plugin uses our context.
  const plugin = adapter.registerPlugin() as unknown as Hono<ApiEnv>;
  plugin.onError(answerErrors(log));
  app.route(PATH, plugin);
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
