/**
 * A job's events from any point on, then each as it happens. Redis stores the events; a message on a channel only triggers the
 * next read, and without messages there is one every two seconds. So the process holds no more than one read's events for each
 * reader, and a reader may reconnect to any API process.
 */
import {
  type Clock,
  FOLLOW_EVERY_MS,
  followJob,
  type Job,
  type JobEvent,
  type JobId,
  type Log,
  OutputPartSchema,
  ProgressSchema,
  readPreview,
  WakeUp,
} from '@lehr/shared';
import {
  isTerminal,
  type JobRecord,
  type RecordChanges,
  type RecordStore,
  type StoredEvent,
} from '@lehr/shared/records';
import { isRedisOutage, type Keys, type Redis } from '@lehr/shared/redis';
import type { Channels } from './channels.ts';

interface EventFeedsOptions {
  readonly channels: Channels;
  readonly redis: Redis;
  readonly keys: Keys;
  readonly records: RecordStore;
  readonly presenter: { job(record: JobRecord): Promise<Job> };
  readonly clock: Clock;
  readonly log: Log;
}

interface FeedRequest {
  readonly id: JobId;
  /** Revision of the last event that the reader has; 0 for none. */
  readonly after: number;
  /** Whether the reader gets previews. Workers make them only while a reader wants them. */
  readonly previews: boolean;
  /** Aborts when the reader disconnects. */
  readonly disconnected: AbortSignal;
}

/** Previews have no revision. */
interface NumberedEvent {
  readonly rev?: number;
  readonly event: JobEvent;
}

export type FeedItem = NumberedEvent | 'ping';

/** A lost message delays an event by at most this. */
const RECHECK_MS = 2000;
const PING_MS = 15_000;
/** Between two reads of counts. */
const POLL_MS = 1000;
/** Events per read: no more are held for a slow reader. */
const BATCH = 64;

interface Reader extends FeedRequest {
  after: number;
  /** The stored preview may have changed. */
  isPreviewDue: boolean;
  /** Data of the last preview sent. */
  lastPreview: string | undefined;
  /** By the monotonic clock: when to renew the watch that keeps progress and previews coming. */
  refreshWatchAt: number;
}

interface Read {
  readonly items: readonly NumberedEvent[];
  readonly next: 'read-on' | 'wait' | 'end';
}

export class EventFeeds {
  readonly #options: EventFeedsOptions;
  readonly #wakeUps = new Set<WakeUp>();
  #stopped = false;

  constructor(options: EventFeedsOptions) {
    this.#options = options;
  }

  /** Open feeds. */
  get size(): number {
    return this.#wakeUps.size;
  }

  /** Ends every feed, now and from now on; readers reconnect to another process. */
  stop(): void {
    this.#stopped = true;
    for (const wakeUp of this.#wakeUps) wakeUp.wake();
  }

  /**
   * The events after `after`, then each as it happens, and 'ping' when there is none for long. Ends after the job's end event,
   * which comes exactly once; ends without it when the job is deleted, the reader disconnects or the server stops. During an
   * outage of Redis there are no events; the feed continues afterwards.
   */
  async *follow(request: FeedRequest): AsyncGenerator<FeedItem> {
    const { keys, clock, channels } = this.#options;
    const { id, previews, disconnected } = request;
    const reader: Reader = { ...request, isPreviewDue: previews, lastPreview: undefined, refreshWatchAt: 0 };
    const wakeUp = new WakeUp(clock);
    const wake = (): void => wakeUp.wake();
    const unlisten = [channels.listen(keys.changed(id), wake)];
    if (previews) {
      unlisten.push(
        channels.listen(keys.preview(id), () => {
          reader.isPreviewDue = true;
          wakeUp.wake();
        }),
      );
    }
    this.#wakeUps.add(wakeUp);
    disconnected.addEventListener('abort', wake);
    let end: readonly NumberedEvent[] = [];
    try {
      let sentAt = clock.monotonic();
      while (!this.#stopped && !disconnected.aborted) {
        const { items, next } = await this.#read(reader);
        if (next === 'end') {
          end = items;
          break;
        }
        yield* items;
        if (items.length > 0) sentAt = clock.monotonic();
        if (next === 'read-on') continue;
        if (clock.monotonic() - sentAt >= PING_MS) {
          yield 'ping';
          sentAt = clock.monotonic();
        }
        const quietMs = PING_MS - (clock.monotonic() - sentAt);
        if (!this.#stopped && !disconnected.aborted)
          await wakeUp.wait(Math.max(1, Math.min(RECHECK_MS, quietMs)));
      }
    } finally {
      for (const stop of unlisten) stop();
      disconnected.removeEventListener('abort', wake);
      this.#wakeUps.delete(wakeUp);
    }
    // After the clean-up: a slow reader of the end event holds no subscription.
    yield* end;
  }

  /**
   * What `read` returns, each time that it has changed, at most once a second, and 'ping' as `follow`; ends after the last one, and without
   * it when there is nothing to read any more. For counts that change too often to announce.
   */
  async *poll<Item extends object>(
    read: () => Promise<{ readonly item: Item; readonly isEnd: boolean } | undefined>,
    disconnected: AbortSignal,
  ): AsyncGenerator<Item | 'ping'> {
    const { clock } = this.#options;
    const wakeUp = new WakeUp(clock);
    const wake = (): void => wakeUp.wake();
    this.#wakeUps.add(wakeUp);
    disconnected.addEventListener('abort', wake);
    let sent = '';
    let sentAt = clock.monotonic();
    try {
      while (!this.#stopped && !disconnected.aborted) {
        const found = await read().catch((error) => {
          if (isRedisOutage(error)) return 'lost' as const;
          throw error;
        });
        if (!found) return;
        if (found !== 'lost') {
          const text = JSON.stringify(found.item);
          if (text !== sent) {
            yield found.item;
            sent = text;
            sentAt = clock.monotonic();
          }
          if (found.isEnd) return;
        }
        if (clock.monotonic() - sentAt >= PING_MS) {
          yield 'ping';
          sentAt = clock.monotonic();
        }
        if (!this.#stopped && !disconnected.aborted) await wakeUp.wait(POLL_MS);
      }
    } finally {
      disconnected.removeEventListener('abort', wake);
      this.#wakeUps.delete(wakeUp);
    }
  }

  /** One read of what is new; nothing during an outage of Redis. */
  async #read(reader: Reader): Promise<Read> {
    const { records, log } = this.#options;
    try {
      const [changes] = await Promise.all([
        records.changes(reader.id, reader.after, BATCH),
        this.#refreshWatch(reader),
      ]);
      return changes ? await this.#toRead(reader, changes) : { items: [], next: 'end' };
    } catch (error) {
      if (isRedisOutage(error)) return { items: [], next: 'wait' };
      log.error({ job: reader.id, error }, 'could not read the events of a job');
      throw error;
    }
  }

  async #toRead(reader: Reader, { state, events }: RecordChanges): Promise<Read> {
    const items = events.flatMap((event): NumberedEvent[] => {
      const jobEvent = toJobEvent(reader.id, event);
      return jobEvent ? [{ rev: event.rev, event: jobEvent }] : [];
    });
    const isUpToDate = events.length < BATCH;
    if (isUpToDate && isTerminal(state)) {
      const end = await this.#end(reader.id);
      return { items: [...items, ...end], next: 'end' };
    }
    if (isUpToDate) items.push(...(await this.#preview(reader)));
    reader.after = events.at(-1)?.rev ?? reader.after;
    return { items, next: isUpToDate ? 'wait' : 'read-on' };
  }

  /** The end event is built from the record, so it is not lost when Redis has dropped the stored event. */
  async #end(id: JobId): Promise<NumberedEvent[]> {
    const { records, presenter } = this.#options;
    const record = await records.read(id);
    // The job was deleted since the last read.
    if (!record || !('finished_at' in record)) return [];
    const event: JobEvent = {
      type: `job.${record.state}`,
      timestamp: iso(record.finished_at),
      data: await presenter.job(record),
    };
    return [{ rev: record.rev, event }];
  }

  async #preview(reader: Reader): Promise<NumberedEvent[]> {
    const { redis, keys, clock } = this.#options;
    if (!reader.isPreviewDue) return [];
    // Reset before the read: a message that comes during it announces a newer preview.
    reader.isPreviewDue = false;
    const preview = await readPreview(redis, keys, reader.id);
    if (!preview || preview.data === reader.lastPreview) return [];
    reader.lastPreview = preview.data;
    return [{ event: { type: 'job.preview', timestamp: iso(clock.now()), data: preview } }];
  }

  async #refreshWatch(reader: Reader): Promise<void> {
    const { redis, keys, clock } = this.#options;
    if (clock.monotonic() < reader.refreshWatchAt) return;
    reader.refreshWatchAt = clock.monotonic() + FOLLOW_EVERY_MS;
    // Without the watch there are no previews and less progress, but the events go on.
    await followJob(redis, keys, reader.id, reader.previews).catch(() => {});
  }
}

/** Undefined for the end event, which is built from the record, and for events that another version of Lehr has stored. */
function toJobEvent(id: JobId, { type, at, data }: StoredEvent): JobEvent | undefined {
  const timestamp = iso(at);
  switch (type) {
    case 'job.scheduled':
      return { type, timestamp, data: { id, status: 'scheduled' } };
    case 'job.queued':
      return { type, timestamp, data: { id, status: 'queued' } };
    case 'job.started':
      return { type, timestamp, data: { id, status: 'running' } };
    case 'job.progress': {
      const progress = ProgressSchema.safeParse(data);
      return progress.success ? { type, timestamp, data: { id, ...progress.data } } : undefined;
    }
    case 'job.output': {
      const part = OutputPartSchema.safeParse(data);
      return part.success ? { type, timestamp, data: { id, ...part.data } } : undefined;
    }
    default:
      return undefined;
  }
}

const iso = (ms: number): string => new Date(ms).toISOString();

interface PollingParts {
  readonly redis: Redis;
  readonly keys: Keys;
}

/**
 * A caller that reads an unfinished job follows it for a few seconds, so that its next read finds recent progress. In the
 * background: without it, progress is a few seconds old.
 */
export function followByPolling({ redis, keys }: PollingParts, { id, state }: JobRecord): void {
  if (!isTerminal(state)) followJob(redis, keys, id, false).catch(() => {});
}
