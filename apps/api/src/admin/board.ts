/**
 * bull-board at /admin/queues, for looking only: a job is called off through the API, so that its record stays the
 * truth. One BullMQ Queue per group over the API's one connection; groups are looked up when the page asks, so new ones appear
 * without a restart.
 */
import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { HonoAdapter } from '@bull-board/hono';
import { serveStatic } from '@hono/node-server/serve-static';
import type { Keys, Redis } from '@lehr/shared/redis';
import { Queue } from 'bullmq';
import type { Hono } from 'hono';
import { csrf } from 'hono/csrf';
import { secureHeaders } from 'hono/secure-headers';
import type { Api, ApiParts } from '../api.ts';
import { answerErrors } from '../dialects/answer-errors.ts';
import type { ApiEnv } from '../middleware/api-env.ts';
import { administrators } from './admin-auth.ts';

const PATH = '/admin/queues';

export function mountBoard(app: Api, parts: ApiParts): void {
  const { redis, keys, authenticator, presenter, publicUrl, log } = parts;
  const adapter = new HonoAdapter(serveStatic).setBasePath(PATH);
  const board = createBullBoard({
    queues: [],
    serverAdapter: adapter,
    options: {
      uiConfig: {
        boardTitle: 'Lehr',
        hideDocsLink: true,
        // It would count BullMQ's own workers, and none run here; /v1/queues has the real ones.
        showWorkers: false,
        miscLinks: [{ text: 'API', url: presenter.url('/docs') }],
      },
    },
  });
  const shown = new Set<string>();

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
    administrators(authenticator),
    // Behind a proxy the page's origin is the public one.
    csrf({ origin: (origin, c) => [new URL(c.req.url).origin, new URL(publicUrl).origin].includes(origin) }),
  );
  app.get(`${PATH}/`, (c) => c.redirect(PATH, 308));
  app.use(`${PATH}/api/*`, async function showNewGroups(_, next) {
    for (const name of await redis.smembers(keys.groups)) {
      if (shown.has(name)) continue;
      shown.add(name);
      board.addQueue(new BullMQAdapter(openQueue(name, redis, keys), { readOnlyMode: true }));
    }
    await next();
  });
  // bull-board brings its own copy of Hono's types; it runs in our context all the same.
  const plugin = adapter.registerPlugin() as unknown as Hono<ApiEnv>;
  plugin.onError(answerErrors(log));
  app.route(PATH, plugin);
}

/** For reading: it writes no metadata, and outlives outages on a connection that fails fast. */
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
