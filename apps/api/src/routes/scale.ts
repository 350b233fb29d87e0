import { createRoute, z } from '@hono/zod-openapi';
import { LehrError, ScaleSchema } from '@lehr/shared';
import { requires } from '../http/middleware/auth.ts';
import { BEARER, problemsWithKey } from '../http/responses.ts';
import type { Api, ApiParts } from '../parts.ts';

const route = createRoute({
  method: 'get',
  path: '/v1/scale/{pool}',
  operationId: 'getScale',
  tags: ['queues'],
  summary: 'Say how many workers a pool should have',
  description:
    'For what starts and stops workers, such as KEDA (scaler `metrics-api`, valueLocation `desired_workers`, targetValue 1) or ' +
    '`lehr fleet`. It is computed at most once a second. Without LEHR_POOLS there is one pool, `all`. Needs the scope `scale` or `admin`.',
  security: BEARER,
  middleware: requires('scale', 'admin'),
  request: { params: z.object({ pool: z.string().max(64).meta({ example: 'all' }) }) },
  responses: {
    200: {
      description: 'The number, why it is this number, and what it was computed from.',
      content: { 'application/json': { schema: ScaleSchema } },
    },
    ...problemsWithKey('invalid-request', 'not-found'),
  },
});

export function scaleRoute(app: Api, { scaler }: ApiParts): void {
  app.openapi(route, async (c) => {
    const { pool } = c.req.valid('param');
    const scale = await scaler.of(pool, { isAsked: true });
    if (!scale) {
      throw new LehrError(
        'not-found',
        `There is no pool ${JSON.stringify(pool)}. Pools: ${scaler.names.join(', ')}.`,
      );
    }
    c.header('cache-control', 'no-store');
    return c.json(scale, 200);
  });
}
