/**
 * Objects of the folder store, read through signed links: the link is the right to read, so no key is asked for. An S3
 * store's links lead to S3 and never come here.
 */
import { createRoute, z } from '@hono/zod-openapi';
import { LehrError } from '@lehr/shared';
import { type LinkVerdict, objectHeaders, verifyLink } from '@lehr/shared/objects';
import { secureHeaders } from 'hono/secure-headers';
import type { Api, ApiParts } from '../api.ts';
import { problems } from '../responses.ts';

const PREFIX = '/objects/';

const route = createRoute({
  method: 'get',
  path: '/objects/{key}',
  operationId: 'getObject',
  tags: ['objects'],
  summary: 'Read an output through its link',
  description: 'Links stand in `output` of a job, signed and with an end. The key may hold slashes.',
  request: {
    params: z.object({ key: z.string() }),
    query: z.object({ expires: z.string(), name: z.string().optional(), sig: z.string() }),
  },
  responses: {
    200: {
      description: 'The bytes.',
      content: { '*/*': { schema: z.string().meta({ format: 'binary' }) } },
    },
    304: { description: 'You have it already.' },
    ...problems('forbidden', 'not-found', 'gone', 'storage-failed'),
  },
});

export function objectsRoute(app: Api, { store, linkSecret, clock }: ApiParts): void {
  app.openAPIRegistry.registerPath(route);
  // Pages of other origins may show the pictures; that is what links are for.
  app.use(`${PREFIX}*`, secureHeaders({ crossOriginResourcePolicy: 'cross-origin', overwrite: false }));
  app.get(`${PREFIX}*`, async (c) => {
    if (linkSecret === undefined) throw new LehrError('not-found', 'Outputs are not served here.');
    const { pathname, searchParams } = new URL(c.req.url);
    const path = pathname.slice(pathname.indexOf(PREFIX) + PREFIX.length);
    const { key, filename } = allowed(verifyLink(linkSecret, path, searchParams, clock.now()));
    const object = await store.get(key);
    if (!object) throw new LehrError('not-found', 'This output is not there any more.');
    const headers = objectHeaders(object, filename);
    const isKnown = c.req.header('if-none-match') === headers.etag;
    if (isKnown || c.req.method === 'HEAD') {
      await object.body.cancel();
      return c.body(null, isKnown ? 304 : 200, headers);
    }
    return c.body(object.body, 200, headers);
  });
}

function allowed(verdict: LinkVerdict): Extract<LinkVerdict, { outcome: 'ok' }> {
  if (verdict.outcome === 'ok') return verdict;
  if (verdict.outcome === 'expired') {
    throw new LehrError('gone', 'This link has expired; ask for the job again for a new one.');
  }
  throw new LehrError('forbidden', 'This link is not valid.');
}
