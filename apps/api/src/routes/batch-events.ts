/** A batch as it changes, as server-sent events. */
import { createRoute, z } from '@hono/zod-openapi';
import { type BatchEvent, BatchEventSchema } from '@lehr/shared';
import { isEnded } from '../batches/batch-store.ts';
import { batchEventOf, presentBatch } from '../batches/present-batch.ts';
import { eventStream, formatEvent, PING, SSE_HEADERS } from '../follow/sse.ts';
import { enterStream, holderOf } from '../follow/streams.ts';
import { requires } from '../http/middleware/auth.ts';
import { BEARER, problemsWithKey } from '../http/responses.ts';
import type { Api, ApiParts } from '../parts.ts';
import { BATCH } from './examples.ts';

/** The id of the last event: a browser that has it is told not to reconnect. All others begin with the batch as it is. */
const LAST = 'end';

const route = createRoute({
  method: 'get',
  path: '/v1/batches/{id}/events',
  operationId: 'followBatch',
  tags: ['batches'],
  summary: 'Follow a batch',
  description:
    'Server-sent events: the batch as it is, then as `batch.progress` each time that it has changed, at most once a second, and at last the ' +
    'event of its end; then the stream closes. A `: ping` comment comes after every 15 s without an event.',
  security: BEARER,
  middleware: requires('read'),
  request: {
    params: z.object({ id: z.string().meta({ description: 'The id of the batch.', example: BATCH.id }) }),
    headers: z.object({
      'last-event-id': z
        .string()
        .max(200)
        .optional()
        .meta({ description: 'Sent by browsers that reconnect.' }),
    }),
  },
  responses: {
    200: {
      description: 'The events. The schema is that of the `data` of each, which is JSON.',
      content: {
        'text/event-stream': {
          schema: BatchEventSchema,
          example: batchEventOf(BATCH, Date.UTC(2026, 10, 20, 8)),
        },
      },
    },
    204: { description: 'The batch has ended and you have its last event.' },
    ...problemsWithKey('invalid-request', 'not-found', 'rate-limited'),
  },
});

export function batchEventsRoute(app: Api, { batches, feeds, streams, clock }: ApiParts): void {
  app.openapi(route, async (c) => {
    const { caller } = c.var;
    const batch = await batches.find(caller.tenant, c.req.valid('param').id);
    if (isEnded(batch) && c.req.valid('header')['last-event-id'] === LAST) return c.body(null, 204);
    const read = async () => {
      const now = await batches.read(batch.id);
      return now && { item: presentBatch(now), isEnd: isEnded(now) };
    };
    const body = eventStream(
      async function* (disconnected) {
        for await (const data of feeds.poll(read, disconnected)) {
          yield data === 'ping' ? PING : formatted(batchEventOf(data, clock.now()));
        }
      },
      enterStream(c.req.raw, streams, holderOf(caller, 'read')),
    );
    return c.body(body, 200, SSE_HEADERS);
  });
}

const formatted = (event: BatchEvent): string =>
  formatEvent({
    ...(event.type !== 'batch.progress' && { id: LAST }),
    event: event.type,
    data: JSON.stringify(event),
  });
