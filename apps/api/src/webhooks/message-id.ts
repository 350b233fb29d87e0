import { createHash } from 'node:crypto';
import { END_EVENTS, type JobId } from '@lehr/shared';

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
