/** Verifies the signature of a webhook: Standard Webhooks, https://www.standardwebhooks.com. */
import { Webhook } from 'standardwebhooks';
import { LehrError } from './lehr-error.ts';
import type { BatchWebhookBody, WebhookBody } from './wire.ts';

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * Returns the event of a delivery after it has verified the signature. `body` is the body as received, before any parsing;
 * `headers` are those of a Request or of node:http. Throws LehrError `invalid-signature` when the signature is wrong or its
 * timestamp differs from the clock by more than five minutes. Of a batch: `verifyWebhook<BatchWebhookBody>(...)`.
 */
export function verifyWebhook<Body extends WebhookBody | BatchWebhookBody = WebhookBody>(
  secret: string,
  body: string | Uint8Array,
  headers: Headers | globalThis.Headers,
): Body {
  const text = typeof body === 'string' ? body : new TextDecoder().decode(body);
  const given: Record<string, string> = {};
  const entries = headers instanceof globalThis.Headers ? [...headers] : Object.entries(headers);
  for (const [name, value] of entries) given[name.toLowerCase()] = String(value);
  try {
    return new Webhook(secret).verify(text, given) as Body;
  } catch (cause) {
    throw new LehrError(
      'invalid-signature',
      `The webhook is not signed by Lehr: ${(cause as Error).message}.`,
      {
        cause,
      },
    );
  }
}
