import { createRoute } from '@hono/zod-openapi';
import { ChartListSchema, ChartQuerySchema } from '@lehr/shared';
import { requires } from '../http/middleware/auth.ts';
import { BEARER, problemsWithKey } from '../http/responses.ts';
import { ChartsView } from '../operations/charts.ts';
import type { Api, ApiParts } from '../parts.ts';

const route = createRoute({
  method: 'get',
  path: '/v1/charts',
  operationId: 'getCharts',
  tags: ['queues'],
  summary: 'Show the main metrics over time',
  description:
    'Ten charts of the whole installation, read from the Prometheus at LEHR_PROMETHEUS_URL at most every five seconds. Needs a key of ' +
    'the scope `admin`. A chart that could not be read has a `problem`.',
  security: BEARER,
  middleware: requires('admin'),
  request: { query: ChartQuerySchema },
  responses: {
    200: {
      description: 'The charts; none when no Prometheus is configured.',
      content: { 'application/json': { schema: ChartListSchema } },
    },
    ...problemsWithKey('invalid-request'),
  },
});

export function chartsRoute(app: Api, { prometheusUrl, clock }: ApiParts): void {
  const view = new ChartsView(prometheusUrl, clock);
  app.openapi(route, async (c) => {
    const { range } = c.req.valid('query');
    c.header('cache-control', 'no-store');
    return c.json(await view.get(range), 200);
  });
}
