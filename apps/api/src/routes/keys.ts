/** Manages the keys of all tenants; requires the scope `admin`. A key is shown once, in the response that creates it. */
import { createRoute, z } from '@hono/zod-openapi';
import {
  ApiKeyListSchema,
  ApiKeySchema,
  KeyChangeSchema,
  KeyRequestSchema,
  LehrError,
  NewApiKeySchema,
  type TenantId,
} from '@lehr/shared';
import type { KeyFacts } from '../access/auth/key-store.ts';
import { actorOf, requires } from '../http/middleware/auth.ts';
import { BEARER, problemsWithKey } from '../http/responses.ts';
import type { AccessParts, Api, CoreParts, JobParts } from '../parts.ts';
import { KEY_REQUEST, NEW_KEY, SHOWN_KEY } from './examples.ts';

const IdParams = z.object({
  id: z.string().meta({ description: 'The id of the key: its third part.', example: '4fZk09Qa' }),
});
const shared = { tags: ['keys'], security: BEARER, middleware: requires('admin') };
const shown = {
  description: 'The key, without its secret.',
  content: { 'application/json': { schema: ApiKeySchema, example: SHOWN_KEY } },
};
const body = <Schema extends z.ZodType>(schema: Schema, example: object) => ({
  required: true,
  content: { 'application/json': { schema, example } },
});
const BODY_PROBLEMS = ['invalid-request', 'too-large', 'unsupported-media', 'invalid-input'] as const;

const createKeyRoute = createRoute({
  ...shared,
  method: 'post',
  path: '/v1/keys',
  operationId: 'createKey',
  summary: 'Create a key',
  description:
    'The first key of a tenant creates the tenant. To rotate a key, create a second one and revoke the first when it is no longer used.',
  request: { body: body(KeyRequestSchema, KEY_REQUEST) },
  responses: {
    201: {
      description: 'The key. It is shown only here.',
      content: { 'application/json': { schema: NewApiKeySchema, example: NEW_KEY } },
    },
    ...problemsWithKey(...BODY_PROBLEMS),
  },
});

const listRoute = createRoute({
  ...shared,
  method: 'get',
  path: '/v1/keys',
  operationId: 'listKeys',
  summary: 'List all keys',
  description: 'The keys of all tenants, oldest first, without the configured key (LEHR_API_KEY).',
  responses: {
    200: {
      description: 'All keys.',
      content: {
        'application/json': { schema: ApiKeyListSchema, example: { object: 'list', data: [SHOWN_KEY] } },
      },
    },
    ...problemsWithKey(),
  },
});

const changeRoute = createRoute({
  ...shared,
  method: 'patch',
  path: '/v1/keys/{id}',
  operationId: 'changeKey',
  summary: 'Change a key',
  description:
    'Takes effect on every API process within a second. An absent limit stays unchanged; null removes it. A session of the studio may ' +
    'change the limits and nothing else.',
  request: { params: IdParams, body: body(KeyChangeSchema, { limits: { cost_per_minute_s: 600 } }) },
  responses: { 200: shown, ...problemsWithKey('not-found', ...BODY_PROBLEMS) },
});

const revokeRoute = createRoute({
  ...shared,
  method: 'delete',
  path: '/v1/keys/{id}',
  operationId: 'revokeKey',
  summary: 'Revoke a key',
  description: 'Every API process refuses it within a second. Jobs that were created with it continue.',
  request: { params: IdParams },
  responses: {
    204: { description: 'The key is revoked.' },
    ...problemsWithKey('not-found', 'too-large'),
  },
});

const unknownKey = (): LehrError => new LehrError('not-found', 'There is no such key.');

export function keyRoutes(app: Api, { keyStore, storage, clock }: AccessParts & JobParts & CoreParts): void {
  const withUsage = async <Key extends KeyFacts>(key: Key) => ({
    ...key,
    usage: await storage.usage(key.tenant as TenantId),
  });

  app.openapi(createKeyRoute, async (c) => {
    const key = await keyStore.create(c.req.valid('json'), clock.now(), actorOf(c));
    c.header('cache-control', 'no-store');
    return c.json(await withUsage(key), 201);
  });

  app.openapi(listRoute, async (c) => {
    c.header('cache-control', 'private, no-cache');
    return c.json(
      { object: 'list' as const, data: await Promise.all((await keyStore.list()).map(withUsage)) },
      200,
    );
  });

  app.openapi(changeRoute, async (c) => {
    const change = c.req.valid('json');
    if (c.get('isSession') && Object.keys(change).some((name) => name !== 'limits')) {
      throw new LehrError('forbidden', 'A session of the studio may change only the limits of a key.');
    }
    const key = await keyStore.change(c.req.valid('param').id, change, actorOf(c));
    if (!key) throw unknownKey();
    return c.json(await withUsage(key), 200);
  });

  app.openapi(revokeRoute, async (c) => {
    if (!(await keyStore.revoke(c.req.valid('param').id, actorOf(c)))) throw unknownKey();
    return c.body(null, 204);
  });
}
