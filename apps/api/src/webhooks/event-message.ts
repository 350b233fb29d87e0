/** What is sent about an event: its webhook id, the record as it was at the event, and who renders that. */
import { createHash } from 'node:crypto';
import { END_EVENTS, type JobId } from '@lehr/shared';
import { type Dialect, type JobRecord, waitingSince } from '@lehr/shared/records';

/** Crockford's base 32, as in a ULID. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const TIME_LENGTH = 10;
const RANDOM_LENGTH = 16;

/**
 * The webhook id of an event: `msg_` and a ULID that is computed from job and event alone. It is therefore the same on every
 * attempt, after every crash and in every process. `rev` distinguishes the events of a repeatable type.
 */
export function webhookId(job: JobId, event: string, rev?: number): string {
  const digest = createHash('sha256')
    .update(`${job} ${event} ${rev ?? ''}`)
    .digest();
  const random = Array.from(digest.subarray(0, RANDOM_LENGTH), (byte) => ALPHABET[byte % ALPHABET.length]);
  const time = job.slice('job_'.length, 'job_'.length + TIME_LENGTH).toUpperCase();
  return `msg_${time}${random.join('')}`;
}

/** A job can have many events of this type; each replaces the one before. */
export const isRepeatable = (event: string): boolean => event === 'job.progress';

export const isEnd = (event: string): boolean => (END_EVENTS as readonly string[]).includes(event);

/** Fields that a record gets when it is started, and when it ends. */
const OF_RUNNING = ['started_at', 'worker', 'lease', 'progress', 'cancel_requested'];
const OF_ENDED = ['finished_at', 'expires_at', 'output', 'metrics', 'error'];

/**
 * The record as it was at the event. A webhook may be rendered late: when the job has ended meanwhile, the webhook of its start
 * must not show the end. The record of an end never changes, and progress is always sent as it is now.
 */
export function recordAtEvent(record: JobRecord, event: string): JobRecord {
  switch (event) {
    case 'job.queued':
      return { ...without(record, [...OF_RUNNING, ...OF_ENDED]), state: 'queued', attempt: 0 } as JobRecord;
    case 'job.started': {
      const startedAt = 'started_at' in record ? record.started_at : undefined;
      const base = without(record, [...OF_ENDED, 'progress']);
      return { ...base, state: 'running', started_at: startedAt ?? waitingSince(record) } as JobRecord;
    }
    default:
      return record;
  }
}

/** When the record got its state, ms: the time of the event for a record from `recordAtEvent`. */
export function happenedAt(record: JobRecord): number {
  if ('finished_at' in record) return record.finished_at;
  return record.state === 'running' ? record.started_at : waitingSince(record);
}

const without = (record: JobRecord, names: readonly string[]): object =>
  Object.fromEntries(Object.entries(record).filter(([name]) => !names.includes(name)));

/** Renders the webhooks of one dialect. */
export interface Renderer {
  /** The body, sent as JSON; at most about 20 kB, so it has links and no bytes. `record` is as it was at the event. */
  render(record: JobRecord, event: string): Promise<object>;
  /** Whether a failed attempt is retried. */
  retries(event: string): boolean;
}

export type Renderers = Readonly<Partial<Record<Dialect, Renderer>>>;
