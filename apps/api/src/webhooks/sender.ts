/** One attempt: sign, post, and say what came back. */
import type { DeliveryAttempt, TenantId } from '@lehr/shared';
import { type Egress, EgressError } from '@lehr/shared/egress';
import type { Reply } from './schedule.ts';
import type { WebhookSecrets } from './secrets.ts';
import { signedHeaders } from './sign.ts';

export interface Message {
  /** The webhook id. */
  readonly id: string;
  readonly event: string;
  readonly url: string;
  /** Whose secrets sign it. */
  readonly secret: TenantId;
  /** Sent as it is. */
  readonly body: string;
}

export interface Sent {
  readonly reply: Reply;
  readonly attempt: DeliveryAttempt;
  /** Why there was no answer, with what only we should know. */
  readonly error?: EgressError;
}

/** More of an answer is not read. */
const MAX_ANSWER_BYTES = 64 * 1024;
/** As much of it goes into the log. */
const MAX_ANSWER_KEPT = 1024;

export class Sender {
  readonly #egress: Egress;
  readonly #secrets: WebhookSecrets;
  readonly #timeoutMs: number;

  constructor(egress: Egress, secrets: WebhookSecrets, timeoutMs: number) {
    this.#egress = egress;
    this.#secrets = secrets;
    this.#timeoutMs = timeoutMs;
  }

  /** `now` is Redis's clock, ms. Rejects only when it could not be tried, or with the signal's reason. */
  async send(message: Message, now: number, signal?: AbortSignal): Promise<Sent> {
    const { id, event, url } = message;
    const body = Buffer.from(message.body);
    const secrets = await this.#secrets.signing(message.secret);
    const signed = signedHeaders(id, Math.floor(now / 1000), body, secrets);
    const startedAt = performance.now();
    const seen = { webhook_id: id, event, at: new Date(now).toISOString() };
    const ms = (): number => Math.round(performance.now() - startedAt);
    try {
      const answer = await this.#egress.post(url, {
        headers: { 'content-type': 'application/json', ...signed },
        body,
        timeoutMs: this.#timeoutMs,
        maxAnswerBytes: MAX_ANSWER_BYTES,
        ...(signal && { signal }),
      });
      const said = answer.body.subarray(0, MAX_ANSWER_KEPT).toString('utf8');
      return {
        reply: { status: answer.status, retryAfter: answer.headers['retry-after'] },
        attempt: { ...seen, ms: ms(), status: answer.status, answer: said, error: null },
      };
    } catch (error) {
      if (!(error instanceof EgressError)) throw error;
      return {
        reply: { fault: error.fault },
        attempt: { ...seen, ms: ms(), status: null, answer: '', error: error.message },
        error,
      };
    }
  }
}
