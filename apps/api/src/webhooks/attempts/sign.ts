import { createHmac } from 'node:crypto';

/**
 * The headers of one attempt (Standard Webhooks): HMAC-SHA256 of `id.timestamp.body` under each live secret, separated by
 * spaces. `timestampS` is the time of this attempt: receivers reject one that is five minutes off.
 */
export function signedHeaders(
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
