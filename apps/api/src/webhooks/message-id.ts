import { createHash } from 'node:crypto';
import { END_EVENTS, type JobId } from '@lehr/shared';

/** Crockford's base 32, as in a ULID. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const TIME_LENGTH = 10;
const RANDOM_LENGTH = 16;

/**
 * The webhook id of an event: `msg_` and a ULID that follows from job and event alone, so it is the same on every attempt, after
 * every crash, whoever works it out. `rev` tells events of one kind apart that a job may have many of.
 */
export function webhookId(job: JobId, event: string, rev?: number): string {
  const digest = createHash('sha256')
    .update(`${job} ${event} ${rev ?? ''}`)
    .digest();
  const random = Array.from(digest.subarray(0, RANDOM_LENGTH), (byte) => ALPHABET[byte % ALPHABET.length]);
  const time = job.slice('job_'.length, 'job_'.length + TIME_LENGTH).toUpperCase();
  return `msg_${time}${random.join('')}`;
}

/** Its name in the delivery queue, where a name is taken once. */
export const queueName = (job: JobId, event: string, id: string): string =>
  isRepeatable(event) ? `wh-${job}-${event}-${id}` : `wh-${job}-${event}`;

/** A job may have many of these; each is overtaken by the next. */
export const isRepeatable = (event: string): boolean => event === 'job.progress';

export const isEnd = (event: string): boolean => (END_EVENTS as readonly string[]).includes(event);
