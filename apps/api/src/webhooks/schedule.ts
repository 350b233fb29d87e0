/** What an answer means for a delivery, and when it is tried again. Pure. */
import type { EgressFault } from '@lehr/shared/egress';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Before the second attempt, the third and so on: ten attempts in about three days. */
export const RETRY_DELAYS_MS: readonly number[] = [
  5 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
];
/** So that what failed together does not come back together. */
const JITTER = 0.1;
/** A receiver may ask for more patience than this; we come back all the same. */
const MAX_RETRY_AFTER_MS = 24 * HOUR;
const DEFAULT_PAUSE_MS = 5 * SECOND;
const MAX_PAUSE_MS = 5 * MINUTE;
/** Overloaded, or limiting us: everything for this receiver waits. */
const BUSY = [429, 502, 503, 504];
const GONE = 410;

/** What came of an attempt: a status, or why there was none. */
export type Reply =
  | { readonly status: number; readonly retryAfter: string | undefined }
  | { readonly fault: EgressFault };

export type Verdict =
  | { readonly state: 'delivered' | 'gone' | 'failed'; readonly pauseMs?: number }
  | { readonly state: 'pending'; readonly againMs: number; readonly pauseMs?: number };

export interface Tries {
  /** Attempts made so far, this one included. */
  readonly made: number;
  /** Empty for what is not tried again. */
  readonly delaysMs: readonly number[];
  /** 0 up to 1. */
  readonly random: number;
  /** Wall clock, ms: what a Retry-After date is measured from. */
  readonly now: number;
}

export function verdictOf(reply: Reply, { made, delaysMs, random, now }: Tries): Verdict {
  const status = 'status' in reply ? reply.status : 0;
  if (status >= 200 && status < 300) return { state: 'delivered' };
  if (status === GONE) return { state: 'gone' };
  const isBusy = BUSY.includes(status);
  const askedMs = isBusy && 'status' in reply ? retryAfterMs(reply.retryAfter, now) : undefined;
  const pause = isBusy && { pauseMs: Math.min(askedMs ?? DEFAULT_PAUSE_MS, MAX_PAUSE_MS) };
  if (made > delaysMs.length) return { state: 'failed', ...pause };
  const ownMs = delaysMs[made - 1] * (1 - JITTER + 2 * JITTER * random);
  return { state: 'pending', againMs: Math.round(Math.max(ownMs, askedMs ?? 0)), ...pause };
}

/** Retry-After in seconds or as a date (RFC 9110 10.2.3); undefined when it says nothing usable. */
function retryAfterMs(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  const ms = /^\s*\d{1,10}\s*$/.test(header) ? Number(header) * SECOND : Date.parse(header) - now;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS);
}
