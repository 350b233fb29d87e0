import { createRoute } from '@hono/zod-openapi';
import { ActivitySchema } from '@lehr/shared';
import { ActivityView } from '../fleet/activity.ts';
import { requires } from '../http/middleware/auth.ts';
import { BEARER, problemsWithKey } from '../http/responses.ts';
import type { Api, ApiParts } from '../parts.ts';

const route = createRoute({
  method: 'get',
  path: '/v1/activity',
  operationId: 'getActivity',
  tags: ['queues'],
  summary: 'Show what Lehr is doing now',
  description:
    'The workers, the running batches with every sample and its step, and who waits. Samples and waiting jobs of other tenants are ' +
    'shown without their ids and owners. It is read at most once a second, so a request per second is enough.',
  security: BEARER,
  middleware: requires('read'),
  responses: {
    200: {
      description: 'The state of the last second.',
      content: { 'application/json': { schema: ActivitySchema } },
    },
    ...problemsWithKey(),
  },
});

export function activityRoute(app: Api, { redis, keys, queues, clock }: ApiParts): void {
  const view = new ActivityView(redis, keys, queues, clock);
  app.openapi(route, async (c) => {
    const { tenant, scopes } = c.var.caller;
    c.header('cache-control', 'no-store');
    return c.json(await view.for({ tenant, isAdmin: scopes.has('admin') }), 200);
  });
}
