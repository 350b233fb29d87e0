/** What a job keeps of the wish to be called back. */
import { END_EVENTS, MAX_WEBHOOK_URL_LENGTH, type TenantId } from '@lehr/shared';
import { type Egress, EgressError } from '@lehr/shared/egress';
import type { Dialect, NewJob } from '@lehr/shared/records';
import { refusal } from '../field-problems.ts';

export interface Hook {
  readonly url: string;
  /** Types of job events, `job.progress` among them. Absent: the end, whichever it is. */
  readonly events?: readonly string[] | undefined;
  /** Whose wire it speaks; native unless said otherwise. */
  readonly dialect?: Dialect;
  /** Where the URL stood in the request. */
  readonly pointer?: string;
}

/**
 * The fields of a new job whose owner is to be told. Throws `invalid-input` for a URL that could not be called anyway; names are
 * looked up when it is called.
 */
export function hookFields(
  egress: Pick<Egress, 'check'>,
  owner: TenantId,
  hook: Hook | undefined,
): Pick<NewJob, 'webhook' | 'hook_events'> {
  if (!hook) return {};
  const { url, events = END_EVENTS, dialect = 'native', pointer = '/webhook/url' } = hook;
  checkUrl(egress, url, pointer);
  const unique = [...new Set(events)];
  return { webhook: { url, events: unique, dialect, secret: owner }, hook_events: unique.join(' ') };
}

/** Throws `invalid-input` unless requests may be made to this URL. */
export function checkUrl(egress: Pick<Egress, 'check'>, url: string, pointer: string): void {
  try {
    egress.check(url);
  } catch (error) {
    if (!(error instanceof EgressError)) throw error;
    const detail =
      'must be an https URL that the public Internet can reach, on port 443, without a user name, ' +
      `of at most ${MAX_WEBHOOK_URL_LENGTH} characters`;
    throw refusal('invalid-input', [{ pointer, detail }]);
  }
}
