/**
 * A job's events as they happen, from any point on. The truth is what Redis has stored: messages only say when to look again,
 * and without any a look is taken every two seconds. So nothing is held for a reader but the events of one look, and it
 * makes no difference which API process a reader comes back to.
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
} from '@lehr/shared';
import {
  isTerminal,
  type JobRecord,
  type News,
  type RecordStore,
  type StoredEvent,
} from '@lehr/shared/records';
import { isRedisOutage, type Keys, type Redis } from '@lehr/shared/redis';
import type { Channels } from './channels.ts';
import { WakeUp } from './wake-up.ts';

export interface EventFeedsOptions {
  readonly channels: Channels;
  readonly redis: Redis;
  readonly keys: Keys;
  readonly records: RecordStore;
  readonly presenter: { job(record: JobRecord): Promise<Job> };
  readonly clock: Clock;
  readonly log: Log;
}

export interface FeedRequest {
  readonly id: JobId;
  /** Rev of the last event the reader has. */
  readonly after: number;
  /** Whether to show previews, and to have them made. */
  readonly previews: boolean;
  /** Aborts when the reader has gone. */
  readonly gone: AbortSignal;
}

/** Previews have no rev. */
export interface NumberedEvent {
  readonly rev?: number;
  readonly event: JobEvent;
}

export type FeedItem = NumberedEvent | 'ping';

/** A lost message costs at most this much. */
const RECHECK_MS = 2000;
const PING_MS = 15_000;
/** Events taken with one look: what a slow reader may make us hold. */
const BATCH = 64;

/** Where a reader stands. */
interface Reader extends FeedRequest {
  after: number;
  /** A preview may have come. */
  previewIsDue: boolean;
  shown: string | undefined;
  /** Monotonic: when to say again that somebody follows. */
  followAt: number;
}

interface Look {
  readonly items: readonly NumberedEvent[];
  readonly next: 'look-again' | 'wait' | 'end';
}

export class EventFeeds {
  readonly #options: EventFeedsOptions;
  readonly #bells = new Set<WakeUp>();
  #stopped = false;

  constructor(options: EventFeedsOptions) {
    this.#options = options;
  }

  /** Readers now. */
  get size(): number {
    return this.#bells.size;
  }

  /** From now on every feed ends; its readers go on elsewhere. */
  stop(): void {
    this.#stopped = true;
    for (const bell of this.#bells) bell.ring();
  }

  /**
   * The events after `after`, then each as it happens, and 'ping' in long silences. Ends after the job's end, which comes exactly
   * once, and without it when the job is forgotten, the reader goes or the server stops. While Redis is away it is
   * silent and goes on afterwards.
   */
  async *follow(request: FeedRequest): AsyncGenerator<FeedItem> {
    const { keys, clock, channels } = this.#options;
    const { id, previews, gone } = request;
    const reader: Reader = { ...request, previewIsDue: previews, shown: undefined, followAt: 0 };
    const bell = new WakeUp(clock);
    const ring = (): void => bell.ring();
    const unlisten = [channels.listen(keys.changed(id), ring)];
    if (previews) {
      unlisten.push(
        channels.listen(keys.preview(id), () => {
          reader.previewIsDue = true;
          bell.ring();
        }),
      );
    }
    this.#bells.add(bell);
    gone.addEventListener('abort', ring);
    let end: readonly NumberedEvent[] = [];
    try {
      let sentAt = clock.monotonic();
      while (!this.#stopped && !gone.aborted) {
        const { items, next } = await this.#look(reader);
        if (next === 'end') {
          end = items;
          break;
        }
        yield* items;
        if (items.length > 0) sentAt = clock.monotonic();
        if (next === 'look-again') continue;
        if (clock.monotonic() - sentAt >= PING_MS) {
          yield 'ping';
          sentAt = clock.monotonic();
        }
        const quietMs = PING_MS - (clock.monotonic() - sentAt);
        if (!this.#stopped && !gone.aborted) await bell.rung(Math.max(1, Math.min(RECHECK_MS, quietMs)));
      }
    } finally {
      for (const stop of unlisten) stop();
      gone.removeEventListener('abort', ring);
      this.#bells.delete(bell);
    }
    // Nothing more is needed to tell the end, however long the reader takes for it.
    yield* end;
  }

  /** What there is to tell now; nothing while Redis is away. */
  async #look(reader: Reader): Promise<Look> {
    const { records, log } = this.#options;
    try {
      const [news] = await Promise.all([
        records.news(reader.id, reader.after, BATCH),
        this.#refreshWatch(reader),
      ]);
      return news ? await this.#tell(reader, news) : { items: [], next: 'end' };
    } catch (error) {
      if (isRedisOutage(error)) return { items: [], next: 'wait' };
      log.error({ job: reader.id, error }, 'the events of a job could not be read');
      throw error;
    }
  }

  async #tell(reader: Reader, { state, events }: News): Promise<Look> {
    const items = events.flatMap((event): NumberedEvent[] => {
      const told = tell(reader.id, event);
      return told ? [{ rev: event.rev, event: told }] : [];
    });
    const isAll = events.length < BATCH;
    if (isAll && isTerminal(state)) {
      const end = await this.#end(reader.id);
      return { items: [...items, ...end], next: 'end' };
    }
    if (isAll) items.push(...(await this.#preview(reader)));
    reader.after = events.at(-1)?.rev ?? reader.after;
    return { items, next: isAll ? 'wait' : 'look-again' };
  }

  /** Made from the record and not from its event, which is all the same should Redis have lost that. */
  async #end(id: JobId): Promise<NumberedEvent[]> {
    const { records, presenter } = this.#options;
    const record = await records.read(id);
    // Deleted this very moment.
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
    if (!reader.previewIsDue) return [];
    // Before the read: a message that comes meanwhile is about the next one.
    reader.previewIsDue = false;
    const preview = await readPreview(redis, keys, reader.id);
    if (!preview || preview.data === reader.shown) return [];
    reader.shown = preview.data;
    return [{ event: { type: 'job.preview', timestamp: iso(clock.now()), data: preview } }];
  }

  async #refreshWatch(reader: Reader): Promise<void> {
    const { redis, keys, clock } = this.#options;
    if (!reader.previews || clock.monotonic() < reader.followAt) return;
    reader.followAt = clock.monotonic() + FOLLOW_EVERY_MS;
    // A Redis that takes no writes costs the previews, not the events.
    await followJob(redis, keys, reader.id).catch(() => {});
  }
}

/** Undefined for the job's end, which is told from its record, and for what another version of Lehr may have stored. */
function tell(id: JobId, { type, at, data }: StoredEvent): JobEvent | undefined {
  const timestamp = iso(at);
  switch (type) {
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
