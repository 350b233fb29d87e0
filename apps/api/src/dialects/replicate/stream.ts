/** `urls.stream`: a prediction's outputs and logs as server-sent events. The signed link replaces the key. */
import { createRoute, z } from '@hono/zod-openapi';
import { isJobId, type JobEvent, LehrError } from '@lehr/shared';
import { secureHeaders } from 'hono/secure-headers';
import type { FeedItem } from '../../follow/event-feed.ts';
import { eventStream, formatEvent, PING, SSE_HEADERS } from '../../follow/sse.ts';
import { enterStream, linkHolderOf } from '../../follow/streams.ts';
import { problems } from '../../http/responses.ts';
import type { Api, CoreParts, FollowParts } from '../../parts.ts';
import { jobIdOf, progressLine } from './predictions-view.ts';

const route = createRoute({
  method: 'get',
  path: '/streams/{id}',
  operationId: 'streamPrediction',
  tags: ['replicate'],
  summary: 'Follow a prediction without a key',
  description:
    '`urls.stream` of a prediction leads here. Events: `output` for the link of each picture and each piece of text, `logs` ' +
    'for progress, `error` with its message, and `done` at the end.',
  request: {
    params: z.object({ id: z.string() }),
    query: z.object({ expires: z.string(), sig: z.string() }),
  },
  responses: {
    200: { description: 'The events.', content: { 'text/event-stream': { schema: z.string() } } },
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

export function predictionStreamRoute(
  app: Api,
  { records, eventLinks, feeds, streams }: CoreParts & FollowParts,
): void {
  app.use('/streams/*', secureHeaders({ crossOriginResourcePolicy: 'cross-origin', overwrite: false }));
  app.openapi(route, async (c) => {
    const id = jobIdOf(c.req.valid('param').id);
    const { outcome } = eventLinks.verdict(id, new URL(c.req.url).searchParams);
    if (outcome === 'invalid') throw new LehrError('forbidden', 'This link is not valid.');
    if (outcome === 'expired') {
      throw new LehrError('gone', 'This link has expired. Get the prediction again for a new link.');
    }
    const record = isJobId(id) ? await records.read(id) : undefined;
    if (!record) throw new LehrError('not-found', 'There is no such prediction. It may have been deleted.');
    c.header('access-control-allow-origin', '*');
    const body = eventStream(
      (disconnected) =>
        predictionEvents(feeds.follow({ id: record.id, after: 0, previews: false, disconnected })),
      enterStream(c.req.raw, streams, linkHolderOf(record.tenant)),
    );
    // The types of zod-openapi know JSON answers only.
    return c.body(body, 200, SSE_HEADERS) as never;
  });
}

async function* predictionEvents(feed: AsyncGenerator<FeedItem>): AsyncGenerator<string> {
  let sentText = '';
  for await (const item of feed) {
    if (item === 'ping') {
      yield PING;
      continue;
    }
    for (const [event, data] of toStreamEvents(item.event, sentText)) {
      if (event === 'output') sentText += data;
      yield formatEvent({ event, data, ...(item.rev !== undefined && { id: String(item.rev) }) });
    }
  }
}

/** `sentText` is all the text sent so far. */
function toStreamEvents(event: JobEvent, sentText: string): [event: string, data: string][] {
  switch (event.type) {
    case 'job.progress':
      return [['logs', progressLine(event.data).trimEnd()]];
    case 'job.output': {
      // A new attempt produces the text from the start again.
      const { text, offset } = event.data;
      const more = text.slice(Math.max(0, sentText.length - offset));
      return more === '' ? [] : [['output', more]];
    }
    case 'job.succeeded': {
      const { text, images = [] } = event.data.output ?? {};
      const links = images.map(({ url }): [string, string] => ['output', url]);
      const rest = text?.slice(sentText.length) ?? '';
      return [...(rest === '' ? [] : [['output', rest] as [string, string]]), ...links, ['done', '{}']];
    }
    case 'job.failed':
      return [
        ['error', event.data.error?.detail ?? 'The job failed.'],
        ['done', '{"reason":"error"}'],
      ];
    case 'job.canceled':
    case 'job.expired':
      return [['done', '{"reason":"canceled"}']];
    case 'job.scheduled':
    case 'job.queued':
    case 'job.started':
    case 'job.preview':
      return [];
  }
}
