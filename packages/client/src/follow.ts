/** Yields the events of a job or a batch as they happen, and reconnects when the connection breaks. */
import { LehrError } from './lehr-error.ts';
import { pause } from './retry.ts';
import { readServerSentEvents } from './server-sent-events.ts';
import { type CallOptions, failureOf, type Transport } from './transport.ts';
import type { BatchEvent, JobEvent } from './wire.ts';

export interface FollowOptions extends CallOptions {
  /** The `id` of the last event that you have received: only later events are sent. */
  readonly after?: string | undefined;
  /** Whether the stream contains previews of pictures while they are drawn. Default: true. */
  readonly previews?: boolean | undefined;
}

/** Pass `id` as `after` to continue after this event. Previews have no id. */
export type FollowedEvent = JobEvent & { readonly id?: string };

/** The server sends at least a comment every 15 s. */
const IDLE_TIMEOUT_MS = 45_000;
const RETRY_MS = 1_000;
const ENDS: readonly string[] = ['job.succeeded', 'job.failed', 'job.canceled', 'job.expired'];

/**
 * Yields each event once and ends after the event that ends the job. When the connection breaks, it reconnects with the id of
 * the last event; every event resets the count of retries. Throws LehrError `not-found` when the job does not exist or has been
 * deleted.
 */
export const followJob = (
  transport: Transport,
  id: string,
  { after, previews, signal }: FollowOptions,
): AsyncGenerator<FollowedEvent, undefined> =>
  follow<JobEvent>(transport, { id, after, signal, isEnd: ({ type }) => ENDS.includes(type) }, (last) =>
    transport.open(
      '/v1/jobs/{id}/events',
      {
        path: { id },
        query: { previews: previews === false ? 'false' : undefined },
        header: { 'last-event-id': last },
      },
      IDLE_TIMEOUT_MS,
      signal,
    ),
  );

/** Yields the batch each time that it has changed, at most once a second, the last time when it has ended; reconnects as `followJob`. */
export const followBatch = (
  transport: Transport,
  id: string,
  { signal }: CallOptions,
): AsyncGenerator<BatchEvent, undefined> =>
  follow<BatchEvent>(transport, { id, signal, isEnd: ({ type }) => type !== 'batch.progress' }, () =>
    transport.open('/v1/batches/{id}/events', { path: { id } }, IDLE_TIMEOUT_MS, signal),
  );

interface Followed<Event> extends CallOptions {
  readonly id: string;
  readonly after?: string | undefined;
  readonly isEnd: (event: Event) => boolean;
}

async function* follow<Event extends object>(
  transport: Transport,
  { id, after, isEnd, signal }: Followed<Event>,
  open: (last: string | undefined) => ReturnType<Transport['open']>,
): AsyncGenerator<Event & { readonly id?: string }, undefined> {
  let last = after;
  let retryMs = RETRY_MS;
  let failures = 0;
  for (;;) {
    const { response, timeout } = await open(last);
    try {
      if (response.status === 204) return;
      const messages = readServerSentEvents(bodyOf(response), {
        onBytes: () => timeout.restart(),
        onRetry: (ms) => {
          retryMs = ms;
        },
      });
      for await (const message of messages) {
        const event = JSON.parse(message.data) as Event;
        failures = 0;
        if (message.id !== undefined) last = message.id;
        yield message.id === undefined ? event : { ...event, id: message.id };
        if (isEnd(event)) return;
      }
    } catch (error) {
      const failure = failureOf(error, timeout.signal, signal);
      if (!(failure instanceof LehrError) || failure.code !== 'connection-failed') throw failure;
    } finally {
      timeout.abort();
    }
    failures += 1;
    if (failures > transport.policy.maxRetries) {
      throw new LehrError('connection-failed', `The stream of ${id} ended before its last event.`, {
        retryable: true,
      });
    }
    await pause(retryMs, signal);
  }
}

function bodyOf({ status, headers, body }: Response): ReadableStream<Uint8Array> {
  if (body && headers.get('content-type')?.startsWith('text/event-stream')) return body;
  throw new LehrError(
    'bad-answer',
    `The answer (${status}) is not a stream of events. Check that the URL is that of Lehr.`,
    { status },
  );
}
