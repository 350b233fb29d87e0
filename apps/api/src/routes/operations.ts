/** What operators read of the whole installation; requires the scope `admin`. */
import { createRoute, z } from '@hono/zod-openapi';
import {
  ChartListSchema,
  ChartQuerySchema,
  DeadLettersSchema,
  SettingListSchema,
  TrafficSchema,
} from '@lehr/shared';
import { requires } from '../http/middleware/auth.ts';
import { BEARER, problemsWithKey } from '../http/responses.ts';
import { ChartsView } from '../operations/charts.ts';
import { TrafficView } from '../operations/traffic.ts';
import type { Api, ApiParts, CoreParts, OperationsParts } from '../parts.ts';

function routeOf<const Path extends string, Schema extends z.ZodType>(route: {
  readonly path: Path;
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly answer: string;
  readonly schema: Schema;
}) {
  const { path, operationId, summary, description, answer, schema } = route;
  return createRoute({
    method: 'get',
    path,
    operationId,
    tags: ['operations'],
    summary,
    description,
    security: BEARER,
    middleware: requires('admin'),
    responses: {
      200: { description: answer, content: { 'application/json': { schema } } },
      ...problemsWithKey(),
    },
  });
}

const settingsRoute = routeOf({
  path: '/v1/settings',
  operationId: 'listSettings',
  summary: 'List the settings in force',
  description:
    'The environment variables of the API process that answers, with defaults. Secrets show only whether they are set.',
  answer: 'All settings, by name.',
  schema: SettingListSchema,
});
const deadLettersRoute = createRoute({
  ...routeOf({
    path: '/v1/dead-letters',
    operationId: 'listDeadLetters',
    summary: 'List failed jobs of all tenants',
    description:
      'Jobs that failed for good, newest failure first, without their inputs, and jobs and workers whose stored form could not be read.',
    answer: 'A page of failures.',
    schema: DeadLettersSchema,
  }),
  request: {
    query: z.strictObject({
      cursor: z.string().max(200).optional().meta({ description: '`next_cursor` of the previous page.' }),
    }),
  },
  responses: {
    200: {
      description: 'A page of failures.',
      content: { 'application/json': { schema: DeadLettersSchema } },
    },
    ...problemsWithKey('invalid-request'),
  },
});
const trafficRoute = routeOf({
  path: '/v1/traffic',
  operationId: 'getTraffic',
  summary: 'Show the traffic between callers, API, queues, workers, store and receivers',
  description:
    'Rates, errors and waits of the last ten seconds. It is read at most once a second, so a request per second is enough. Processes ' +
    'report their counters only while it is read: the first answers have no rates.',
  answer: 'The traffic of the last seconds.',
  schema: TrafficSchema,
});

const chartList = createRoute({
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

export function operationsApiRoutes(app: Api, parts: ApiParts): void {
  const traffic = new TrafficView(parts);

  app.openapi(settingsRoute, (c) => {
    c.header('cache-control', 'no-store');
    return c.json({ object: 'list' as const, data: [...parts.settings] }, 200);
  });
  app.openapi(deadLettersRoute, async (c) => {
    c.header('cache-control', 'no-store');
    return c.json(await parts.deadLetters.page(c.req.valid('query').cursor), 200);
  });
  app.openapi(trafficRoute, async (c) => {
    c.header('cache-control', 'no-store');
    return c.json(await traffic.get(), 200);
  });
}

export function chartsRoute(app: Api, { prometheusUrl, clock }: OperationsParts & CoreParts): void {
  const view = new ChartsView(prometheusUrl, clock);
  app.openapi(chartList, async (c) => {
    const { range } = c.req.valid('query');
    c.header('cache-control', 'no-store');
    return c.json(await view.get(range), 200);
  });
}
