import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { LehrError } from './lehr-error.ts';
import { verifyWebhook } from './webhook.ts';

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const BODY = JSON.stringify({ type: 'job.succeeded', data: { id: 'job_1', metadata: { note: 'glühend' } } });

function headersAt(when: Date): Record<string, string> {
  return {
    'Webhook-Id': 'msg_1',
    'Webhook-Timestamp': String(Math.floor(when.getTime() / 1000)),
    'Webhook-Signature': new Webhook(SECRET).sign('msg_1', when, BODY),
  };
}

test('A delivery with a valid signature is read, with headers of any form', () => {
  const headers = headersAt(new Date());
  for (const given of [headers, new Headers(headers), { ...headers, 'x-other': ['a', 'b'] }]) {
    expect(verifyWebhook(SECRET, BODY, given)).toMatchObject({
      type: 'job.succeeded',
      data: { id: 'job_1' },
    });
  }
  expect(verifyWebhook(SECRET, new TextEncoder().encode(BODY), headers)).toHaveProperty('data');
});

test('A delivery with another body, another secret, an old timestamp or a missing header is refused', () => {
  const headers = headersAt(new Date());
  const old = headersAt(new Date(Date.now() - 301_000));
  const other = `whsec_${Buffer.alloc(32, 8).toString('base64')}`;
  const wrong: Parameters<typeof verifyWebhook>[] = [
    [SECRET, `${BODY} `, headers],
    [other, BODY, headers],
    [SECRET, BODY, old],
    [SECRET, BODY, { ...headers, 'Webhook-Signature': undefined }],
    [SECRET, BODY, {}],
  ];
  for (const each of wrong) {
    expect(() => verifyWebhook(...each)).toThrow(LehrError);
    expect(() => verifyWebhook(...each)).toThrow(expect.objectContaining({ code: 'invalid-signature' }));
  }
});
