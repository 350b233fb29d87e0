import { createRoute, z } from '@hono/zod-openapi';
import { isJobId, JobEventSchema, LehrError } from '@lehr/shared';
import type { JobRecord } from '@lehr/shared/records';
import type { Context } from 'hono';
import { secureHeaders } from 'hono/secure-headers';
import type { FeedItem } from '../../follow/event-feed.ts';
import { eventStream, formatEvent, PING, SSE_HEADERS } from '../../follow/sse.ts';
import { enterStream, holderOf, linkHolderOf, type StreamHolder } from '../../follow/streams.ts';
import type { ApiEnv } from '../../http/middleware/api-env.ts';
import { requires } from '../../http/middleware/auth.ts';
import { BEARER, problems, problemsWithKey } from '../../http/responses.ts';
import { adoptJob } from '../../jobs/find.ts';
import { isOver } from '../../jobs/present.ts';
import type { Api, ApiParts, FollowParts } from '../../parts.ts';
import { PROGRESS_EVENT } from '../examples.ts';
import { IdParams, queryNumber } from '../params.ts';

const query = z.strictObject({
  after: queryNumber(z.coerce.number().int().nonnegative().default(0)).meta({
    description: 'The `id` of the last event you have. The header `Last-Event-ID` overrides it.',
  }),
  previews: z.enum(['true', 'false']).default('true').meta({
    description: 'Whether to send previews of unfinished images, as `job.preview`.',
  }),
});

const headers = z.object({
  'last-event-id': z
    .string()
    .regex(/^\d{1,15}$/, 'must be the id of an event')
    .optional()
    .meta({ description: 'Sent by browsers that reconnect: the stream continues after this event.' }),
});

const DESCRIPTION =
  'Server-sent events: first the past events of the job, then each new one, until the job has ended; then the stream closes. ' +
  'Progress is sent at most every 250 ms, `job.preview` (without an id, not repeated) at most twice a second, and a `: ping` ' +
  'comment after every 15 s without an event. A client that reconnects, to this or another server, with the id of the last ' +
  'event it has misses nothing. The last event is sent exactly once on each connection and has the whole job.';

const responses = {
  200: {
    description: 'The events, as they happen. The schema is that of the `data` of each event, which is JSON.',
    content: { 'text/event-stream': { schema: JobEventSchema, example: PROGRESS_EVENT } },
  },
  204: { description: 'The job has ended and you have its last event: a browser does not reconnect.' },
};

const keyRoute = createRoute({
  method: 'get',
  path: '/v1/jobs/{id}/events',
  operationId: 'followJob',
  tags: ['jobs'],
  summary: 'Follow a job',
  description: DESCRIPTION,
  security: BEARER,
  middleware: requires('read'),
  request: { params: IdParams, query, headers },
  responses: { ...responses, ...problemsWithKey('invalid-request', 'not-found', 'rate-limited') },
});

const linkRoute = createRoute({
  method: 'get',
  path: '/events/{id}',
  operationId: 'followJobByLink',
  tags: ['jobs'],
  summary: 'Follow a job without a key',
  description:
    'As `/v1/jobs/{id}/events`, for clients that cannot send a key, such as EventSource in a browser. `links.events_signed` of a ' +
    'job is a signed link to this route; until it expires it grants the right to follow that job. An open stream stays open.',
  request: {
    params: IdParams,
    query: query.extend({ expires: z.string(), sig: z.string() }),
    headers,
  },
  responses: {
    ...responses,
    ...problems(
      'invalid-request',
      'forbidden',
      'not-found',
      'gone',
      'rate-limited',
      'internal',
      'unavailable',
    ),
  },
});

export function jobEventsRoutes(app: Api, parts: ApiParts): void {
  const { records, eventLinks } = parts;

  app.openapi(keyRoute, async (c) => {
    const { caller } = c.var;
    const record = await adoptJob(parts, caller, c.req.valid('param').id);
    return answer(c, parts, record, holderOf(caller, 'read'), {
      ...c.req.valid('query'),
      ...c.req.valid('header'),
    });
  });

  // Pages of other origins may follow a job through its link.
  app.use('/events/*', secureHeaders({ crossOriginResourcePolicy: 'cross-origin', overwrite: false }));
  app.openapi(linkRoute, async (c) => {
    const { id } = c.req.valid('param');
    const { outcome } = eventLinks.verdict(id, new URL(c.req.url).searchParams);
    if (outcome === 'invalid') throw new LehrError('forbidden', 'This link is not valid.');
    if (outcome === 'expired') {
      throw new LehrError('gone', 'This link has expired. Get the job again for a new link.');
    }
    const record = isJobId(id) ? await records.read(id) : undefined;
    if (!record) throw new LehrError('not-found', 'This job no longer exists.');
    c.header('access-control-allow-origin', '*');
    return answer(c, parts, record, linkHolderOf(record.tenant), {
      ...c.req.valid('query'),
      ...c.req.valid('header'),
    });
  });
}

interface FollowQuery {
  readonly after: number;
  readonly previews: 'true' | 'false';
  readonly 'last-event-id'?: string | undefined;
}

function answer(
  c: Context<ApiEnv>,
  { feeds, streams }: FollowParts,
  record: JobRecord,
  holder: StreamHolder,
  query: FollowQuery,
): Response {
  const last = query['last-event-id'] === undefined ? query.after : Number(query['last-event-id']);
  // The client has a later event than the record: Redis lost the newest ones in a crash. All remaining events are sent again.
  const after = last > record.rev ? 0 : last;
  if (isOver(record) && after === record.rev) return c.body(null, 204);
  const previews = query.previews === 'true';
  const body = eventStream(
    (disconnected) => chunks(feeds.follow({ id: record.id, after, previews, disconnected })),
    enterStream(c.req.raw, streams, holder),
  );
  return c.body(body, 200, SSE_HEADERS);
}

async function* chunks(feed: AsyncGenerator<FeedItem>): AsyncGenerator<string> {
  for await (const item of feed) {
    if (item === 'ping') {
      yield PING;
      continue;
    }
    const { rev, event } = item;
    const data = JSON.stringify(event);
    yield formatEvent({ ...(rev !== undefined && { id: String(rev) }), event: event.type, data });
  }
}
