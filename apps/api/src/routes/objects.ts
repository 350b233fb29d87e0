/**
 * Serves the objects of the folder store. Its links are signed and grant the right to read, so no key is needed. Links of an S3
 * store lead to S3 instead.
 */
import { createRoute, z } from '@hono/zod-openapi';
import { LehrError } from '@lehr/shared';
import { type LinkVerdict, objectHeaders, verifyLink } from '@lehr/shared/objects';
import type { Context } from 'hono';
import { secureHeaders } from 'hono/secure-headers';
import type { ApiEnv } from '../http/middleware/api-env.ts';
import { problems } from '../http/responses.ts';
import type { Api, CoreParts, PlaceParts } from '../parts.ts';

const PREFIX = '/objects/';

const route = createRoute({
  method: 'get',
  path: '/objects/{key}',
  operationId: 'getObject',
  tags: ['objects'],
  summary: 'Download an output',
  description:
    'The `output` of a job has the links. They are signed and expire. The key may contain slashes.',
  request: {
    params: z.object({ key: z.string() }),
    query: z.object({ expires: z.string(), name: z.string().optional(), sig: z.string() }),
  },
  responses: {
    200: {
      description: 'The bytes.',
      content: { '*/*': { schema: z.string().meta({ format: 'binary' }) } },
    },
    204: { description: 'To a picture in a page of this server: the output, or its link, has expired.' },
    304: { description: 'The output still has this `ETag`.' },
    ...problems('forbidden', 'not-found', 'gone', 'storage-failed'),
  },
});

export function objectsRoute(app: Api, { store, linkSecret, clock }: PlaceParts & CoreParts): void {
  app.openAPIRegistry.registerPath(route);
  // Pages of other origins may embed the outputs.
  app.use(`${PREFIX}*`, secureHeaders({ crossOriginResourcePolicy: 'cross-origin', overwrite: false }));
  app.get(`${PREFIX}*`, async (c) => {
    if (linkSecret === undefined) throw new LehrError('not-found', 'Outputs are not served here.');
    const { pathname, searchParams } = new URL(c.req.url);
    const path = pathname.slice(pathname.indexOf(PREFIX) + PREFIX.length);
    const verdict = verifyLink(linkSecret, path, searchParams, clock.now());
    if (verdict.outcome === 'expired' && isOwnPicture(c.req.header())) return nothing(c);
    const { key, filename } = allowed(verdict);
    const object = await store.get(key);
    if (!object && isOwnPicture(c.req.header())) return nothing(c);
    if (!object) throw new LehrError('not-found', 'This output no longer exists.');
    const headers = objectHeaders(object, filename);
    const isKnown = c.req.header('if-none-match') === headers.etag;
    if (isKnown || c.req.method === 'HEAD') {
      await object.body.cancel();
      return c.body(null, isKnown ? 304 : 200, headers);
    }
    return c.body(object.body, 200, headers);
  });
}

/**
 * Whether a page of this server shows the object as a picture: the studio. It sees only that the picture did not load, and a browser
 * reports every answer of 400 or more as an error of the page, which a picture that has expired is not.
 */
const isOwnPicture = (headers: Readonly<Record<string, string>>): boolean =>
  headers['sec-fetch-dest'] === 'image' && headers['sec-fetch-site'] === 'same-origin';

const nothing = (c: Context<ApiEnv>): Response => c.body(null, 204, { 'cache-control': 'no-store' });

function allowed(verdict: LinkVerdict): Extract<LinkVerdict, { outcome: 'ok' }> {
  if (verdict.outcome === 'ok') return verdict;
  if (verdict.outcome === 'expired') {
    throw new LehrError('gone', 'This link has expired. Get the job again for a new link.');
  }
  throw new LehrError('forbidden', 'This link is not valid.');
}
