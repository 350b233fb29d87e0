/** Checks that a webhook comes from Lehr: Standard Webhooks, https://www.standardwebhooks.com. */
import { Webhook } from 'standardwebhooks';
import { LehrError } from './lehr-error.ts';
import type { WebhookBody } from './wire.ts';

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * The event in a delivery, once its signature fits. `body` are the bytes as they came, before any parsing; `headers` may be
 * those of a Request or of node:http. Throws LehrError `invalid-signature` when the secret does not fit or the delivery
 * is more than five minutes off.
 */
export function verifyWebhook(
  secret: string,
  body: string | Uint8Array,
  headers: Headers | globalThis.Headers,
): WebhookBody {
  const text = typeof body === 'string' ? body : new TextDecoder().decode(body);
  const given: Record<string, string> = {};
  const entries = headers instanceof globalThis.Headers ? [...headers] : Object.entries(headers);
  for (const [name, value] of entries) given[name.toLowerCase()] = String(value);
  try {
    return new Webhook(secret).verify(text, given) as WebhookBody;
  } catch (cause) {
    throw new LehrError('invalid-signature', `Not a webhook of Lehr: ${(cause as Error).message}.`, {
      cause,
    });
  }
}
