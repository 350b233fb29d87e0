/**
 * One attempt: signs the message, posts it and reports the reply; and what the reply means for its delivery, as a pure decision.
 */
import { createHmac } from 'node:crypto';
import type { DeliveryAttempt, TenantId } from '@lehr/shared';
import { type Egress, EgressError, type EgressFault } from '@lehr/shared/egress';
import type { SigningSecrets } from '../operator-webhook.ts';

interface Message {
  /** The webhook id. */
  readonly id: string;
  readonly event: string;
  readonly url: string;
  /** The tenant whose secrets sign it. */
  readonly signer: TenantId;
  /** Sent byte for byte. */
  readonly body: string;
  /** Sent to the receiver, so that its own spans join the trace. */
  readonly traceparent?: string | undefined;
}

export interface Sent {
  readonly reply: Reply;
  readonly attempt: DeliveryAttempt;
  /** Why there was no reply, with details that are only for Lehr's log. */
  readonly error?: EgressError;
}

/** The rest of a longer reply is not read. */
const MAX_REPLY_BYTES = 64 * 1024;
/** The part of a reply that is stored with the attempt. */
const MAX_REPLY_BYTES_KEPT = 1024;

export class Sender {
  readonly #egress: Egress;
  readonly #secrets: SigningSecrets;
  readonly #timeoutMs: number;

  constructor(egress: Egress, secrets: SigningSecrets, timeoutMs: number) {
    this.#egress = egress;
    this.#secrets = secrets;
    this.#timeoutMs = timeoutMs;
  }

  /** `now` is Redis's clock, ms. Rejects only when no attempt could be made, or with the signal's reason. */
  async send(message: Message, now: number, signal?: AbortSignal): Promise<Sent> {
    const { id, event, url, traceparent } = message;
    const body = Buffer.from(message.body);
    const secrets = await this.#secrets.signing(message.signer);
    const signed = signedHeaders(id, Math.floor(now / 1000), body, secrets);
    const startedAt = performance.now();
    const facts = { webhook_id: id, event, at: new Date(now).toISOString() };
    const ms = (): number => Math.round(performance.now() - startedAt);
    try {
      const reply = await this.#egress.post(url, {
        headers: {
          'content-type': 'application/json',
          ...signed,
          ...(traceparent !== undefined && { traceparent }),
        },
        body,
        timeoutMs: this.#timeoutMs,
        maxAnswerBytes: MAX_REPLY_BYTES,
        ...(signal && { signal }),
      });
      const answer = reply.body.subarray(0, MAX_REPLY_BYTES_KEPT).toString('utf8');
      return {
        reply: { status: reply.status, retryAfter: reply.headers['retry-after'] },
        attempt: { ...facts, ms: ms(), status: reply.status, answer, error: null },
      };
    } catch (error) {
      if (!(error instanceof EgressError)) throw error;
      return {
        reply: { fault: error.fault },
        attempt: { ...facts, ms: ms(), status: null, answer: '', error: error.message },
        error,
      };
    }
  }
}

/**
 * The headers of one attempt (Standard Webhooks): HMAC-SHA256 of `id.timestamp.body` under each live secret, separated by
 * spaces. `timestampS` is the time of this attempt: receivers reject one that is five minutes off.
 */
function signedHeaders(
  id: string,
  timestampS: number,
  body: Uint8Array,
  secrets: readonly string[],
): Record<string, string> {
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${timestampS}.`).update(body).digest('base64')}`;
  });
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestampS),
    'webhook-signature': signatures.join(' '),
  };
}

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

interface Tries {
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
