/** A call that is streamed: what the job tells meanwhile, then its result or why there is none. */
import { type JobEvent, LehrError, toLehrError } from '@lehr/shared';
import { isRedisOutage } from '@lehr/shared/redis';
import type { ApiParts } from '../../api.ts';
import { type SucceededRecord, succeeded } from '../../calls/hold.ts';
import { JobEndedError } from '../../calls/job-ended-error.ts';
import type { MadeJob } from '../../calls/make-job.ts';
import { formatEvent, PING } from '../../follow/sse.ts';
import { isOver } from '../../jobs/present.ts';
import { openaiRefusal } from './errors.ts';

export interface CallEventMapper {
  /** Whether to have previews made. */
  readonly previews: boolean;
  /** What the client hears of an event; undefined: nothing. */
  during(event: JobEvent): object | undefined;
  after(record: SucceededRecord): AsyncIterable<object>;
}

/** Chunks for `eventStream`; each event is one JSON value. */
export async function* callEvents(
  parts: ApiParts,
  made: MadeJob,
  mapper: CallEventMapper,
  gone: AbortSignal,
): AsyncGenerator<string> {
  const { feeds, records, log } = parts;
  const { id } = made.record;
  await made.markHeld();
  try {
    for await (const item of feeds.follow({ id, after: 0, previews: mapper.previews, gone })) {
      if (item === 'ping') yield PING;
      const told = item === 'ping' ? undefined : mapper.during(item.event);
      if (told) yield formatEvent({ data: JSON.stringify(told) });
    }
    if (gone.aborted) return;
    const record = await records.read(id);
    if (!record) throw new LehrError('gone', 'The job was deleted meanwhile.');
    if (!isOver(record)) throw new JobEndedError('stopping', record);
    await made.markAnswered();
    for await (const told of mapper.after(succeeded(record))) {
      yield formatEvent({ data: JSON.stringify(told) });
    }
  } catch (cause) {
    const error = toLehrError(cause, isRedisOutage(cause) ? 'unavailable' : 'internal');
    if (error.code === 'internal') log.error({ error, job: id }, 'a streamed call failed by a fault of ours');
    if (!(error instanceof JobEndedError) || error.end === 'stopping') await made.markUnanswered();
    yield errorEvent(error);
  }
}

const errorEvent = (error: LehrError): string =>
  formatEvent({ event: 'error', data: JSON.stringify(openaiRefusal(error).body) });
