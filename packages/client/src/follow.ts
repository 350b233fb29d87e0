/** A job's events as they happen, over as many connections as that takes. */
import { LehrError } from './lehr-error.ts';
import { pause } from './retry.ts';
import { readServerSentEvents } from './server-sent-events.ts';
import { type CallOptions, fault, type Transport } from './transport.ts';
import type { JobEvent } from './wire.ts';

export interface FollowOptions extends CallOptions {
  /** `id` of the last event you have; those after it follow. */
  readonly after?: string | undefined;
  /** Whether to be shown the pictures while they are made. They are, unless this is false. */
  readonly previews?: boolean | undefined;
}

/** `id` is what to come back with; previews have none. */
export type FollowedEvent = JobEvent & { readonly id?: string };

/** The server says something at least every 15 s. */
const SILENCE_MS = 45_000;
const RETRY_MS = 1_000;
const ENDS: readonly string[] = ['job.succeeded', 'job.failed', 'job.canceled', 'job.expired'];

/**
 * Yields each event once and ends after the one that ends the job. A connection that breaks is made again with the id of the
 * last event; the retries start anew with every event that comes. Throws LehrError `not-found` for a job that is not
 * there (any more).
 */
export async function* followJob(
  transport: Transport,
  id: string,
  { after, previews, signal }: FollowOptions,
): AsyncGenerator<FollowedEvent, undefined> {
  let last = after;
  let retryMs = RETRY_MS;
  let failures = 0;
  for (;;) {
    const { response, patience } = await transport.open(
      'followJob',
      {
        path: { id },
        query: { previews: previews === false ? 'false' : undefined },
        headers: { 'last-event-id': last },
      },
      SILENCE_MS,
      signal,
    );
    try {
      if (response.status === 204) return;
      const messages = readServerSentEvents(bodyOf(response), {
        onBytes: () => patience.heard(),
        onRetry: (ms) => {
          retryMs = ms;
        },
      });
      for await (const message of messages) {
        const event = JSON.parse(message.data) as JobEvent;
        failures = 0;
        if (message.id !== undefined) last = message.id;
        yield message.id === undefined ? event : { ...event, id: message.id };
        if (ENDS.includes(event.type)) return;
      }
    } catch (error) {
      const known = fault(error, patience.signal, signal);
      if (!(known instanceof LehrError) || known.code !== 'connection-failed') throw known;
    } finally {
      patience.abort();
    }
    failures += 1;
    if (failures > transport.policy.maxRetries) {
      throw new LehrError('connection-failed', `The stream of ${id} ends before the job does.`, {
        retryable: true,
      });
    }
    await pause(retryMs, signal);
  }
}

function bodyOf({ status, headers, body }: Response): ReadableStream<Uint8Array> {
  if (body && headers.get('content-type')?.startsWith('text/event-stream')) return body;
  throw new LehrError('bad-answer', `The answer (${status}) is no stream of events.`, { status });
}
