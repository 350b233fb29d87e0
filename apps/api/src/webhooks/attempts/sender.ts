/** Makes one attempt: signs the message, posts it, and reports the reply. */
import type { DeliveryAttempt, TenantId } from '@lehr/shared';
import { type Egress, EgressError } from '@lehr/shared/egress';
import type { SigningSecrets } from '../secrets/operator-secret.ts';
import { signedHeaders } from './sign.ts';
import type { Reply } from './verdict.ts';

export interface Message {
  /** The webhook id. */
  readonly id: string;
  readonly event: string;
  readonly url: string;
  /** The tenant whose secrets sign it. */
  readonly secret: TenantId;
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
    const secrets = await this.#secrets.signing(message.secret);
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
