/** The webhook of a new job: its URL is checked here and stored with the job. */
import { END_EVENTS, MAX_WEBHOOK_URL_LENGTH, type TenantId } from '@lehr/shared';
import { type Egress, EgressError, PRIVATE_HOSTS } from '@lehr/shared/egress';
import type { Dialect, NewJob } from '@lehr/shared/records';
import { refusal } from '../base/field-problems.ts';

export interface Hook {
  readonly url: string;
  /** Types of job events, `job.progress` included. Default: all ends. */
  readonly events?: readonly string[] | undefined;
  /** The dialect of the bodies. Default: native. */
  readonly dialect?: Dialect;
  /** JSON pointer of the URL in the request. */
  readonly pointer?: string;
}

/**
 * The fields of a new job with a webhook. Throws `invalid-input` for a URL that can never be called; its host name is resolved
 * at each call.
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
  return { webhook: { url, events: unique, dialect, signer: owner }, hook_events: unique.join(' ') };
}

/** Throws `invalid-input` unless requests to this URL are allowed. */
export function checkUrl(egress: Pick<Egress, 'check'>, url: string, pointer: string): void {
  try {
    egress.check(url);
  } catch (error) {
    if (!(error instanceof EgressError)) throw error;
    const detail =
      'must be an https URL that the public Internet can reach, on port 443, without a user name, ' +
      `of at most ${MAX_WEBHOOK_URL_LENGTH} characters; ${PRIVATE_HOSTS}`;
    throw refusal('invalid-input', [{ pointer, detail }]);
  }
}
