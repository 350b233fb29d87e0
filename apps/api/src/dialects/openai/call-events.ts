/** The events of a streamed call: those of the running job, then its result or its error. */
import { type JobEvent, LehrError, toLehrError } from '@lehr/shared';
import { isRedisOutage } from '@lehr/shared/redis';
import { formatEvent, PING } from '../../follow/sse.ts';
import { isOver } from '../../jobs/present.ts';
import { JobEndedError, type SucceededRecord, succeeded } from '../../jobs/requests/hold.ts';
import type { MadeJob } from '../../jobs/requests/make-job.ts';
import type { ApiParts } from '../../parts.ts';
import { openaiRefusal } from './errors.ts';

export interface CallEventMapper {
  /** Whether the call needs previews. */
  readonly previews: boolean;
  /** The call's event for an event of the running job; undefined when there is none. */
  during(event: JobEvent): object | undefined;
  /** The events for the result. */
  after(record: SucceededRecord): AsyncIterable<object>;
}

/** Chunks for `eventStream`; each event is one JSON value. */
export async function* callEvents(
  parts: ApiParts,
  made: MadeJob,
  mapper: CallEventMapper,
  disconnected: AbortSignal,
): AsyncGenerator<string> {
  const { feeds, records, log } = parts;
  const { id } = made.record;
  await made.markHeld();
  try {
    for await (const item of feeds.follow({ id, after: 0, previews: mapper.previews, disconnected })) {
      if (item === 'ping') yield PING;
      const event = item === 'ping' ? undefined : mapper.during(item.event);
      if (event) yield formatEvent({ data: JSON.stringify(event) });
    }
    if (disconnected.aborted) return;
    const record = await records.read(id);
    if (!record) throw new LehrError('gone', 'The job was deleted before its result was sent.');
    if (!isOver(record)) throw new JobEndedError('stopping', record);
    await made.markAnswered();
    for await (const event of mapper.after(succeeded(record))) {
      yield formatEvent({ data: JSON.stringify(event) });
    }
  } catch (cause) {
    const error = toLehrError(cause, isRedisOutage(cause) ? 'unavailable' : 'internal');
    if (error.code === 'internal')
      log.error({ error, job: id }, 'a streamed call failed with an internal error');
    if (!(error instanceof JobEndedError) || error.end === 'stopping') await made.markUnanswered();
    yield errorEvent(error);
  }
}

const errorEvent = (error: LehrError): string =>
  formatEvent({ event: 'error', data: JSON.stringify(openaiRefusal(error).body) });
