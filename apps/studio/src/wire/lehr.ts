/** The client of Lehr with the session of this page in place of a key. */
import { Lehr } from '@lehr/client';
import { session, sessionEnded } from '../session/session.ts';

const SAFE = new Set(['GET', 'HEAD']);

async function fetchInSession(input: RequestInfo | URL, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  if (!SAFE.has(init.method ?? 'GET')) headers.set('x-lehr-csrf', session.value?.csrf ?? '');
  const answer = await fetch(input, { ...init, headers });
  if (answer.status === 401) sessionEnded();
  return answer;
}

const options = { url: location.origin, fetch: fetchInSession };

/** Retries what may be repeated, so that a restart of the API goes unnoticed. */
export const lehr = new Lehr(options);

/** For event streams: a lost connection is reported at once, so that the page can show it, and `follow` reconnects. */
export const lehrOnce = new Lehr({ ...options, maxRetries: 0 });
