/** What the result of an attempt means for its delivery, and when the next attempt is due. Pure. */
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
/** Deliveries that failed at the same time are not retried at the same time. */
const JITTER = 0.1;
/** A longer Retry-After is cut to this. */
const MAX_RETRY_AFTER_MS = 24 * HOUR;
const DEFAULT_PAUSE_MS = 5 * SECOND;
const MAX_PAUSE_MS = 5 * MINUTE;
/** The receiver is overloaded or limits the rate: all deliveries to it pause. */
const BUSY = [429, 502, 503, 504];
const GONE = 410;

/** The result of an attempt: a status, or why there was none. */
export type Reply =
  | { readonly status: number; readonly retryAfter: string | undefined }
  | { readonly fault: EgressFault };

export type Verdict =
  | { readonly state: 'delivered' | 'gone' | 'failed'; readonly pauseMs?: number }
  | { readonly state: 'pending'; readonly retryInMs: number; readonly pauseMs?: number };

export interface Tries {
  /** Attempts made so far, this one included. */
  readonly made: number;
  /** Empty for a delivery that is not retried. */
  readonly delaysMs: readonly number[];
  /** 0 up to 1. */
  readonly random: number;
  /** Wall clock, ms: a Retry-After date is measured from it. */
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
  return { state: 'pending', retryInMs: Math.round(Math.max(ownMs, askedMs ?? 0)), ...pause };
}

/** Retry-After in seconds or as a date (RFC 9110 10.2.3); undefined when it is neither. */
function retryAfterMs(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  const ms = /^\s*\d{1,10}\s*$/.test(header) ? Number(header) * SECOND : Date.parse(header) - now;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS);
}
