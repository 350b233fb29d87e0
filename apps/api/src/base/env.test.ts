import { expect, test } from 'vitest';
import { isLoopback, openHostFaults, operatorWebhookFaults } from './env.ts';

test.each(['127.0.0.1', '127.1.2.3', 'localhost', '::1'])('%s is a loopback address', (host) => {
  expect(isLoopback(host)).toBe(true);
});

test.each(['0.0.0.0', '::', '10.0.0.1', '127.0.0.1.example.com', 'lehr.example'])(
  '%s is not a loopback address',
  (host) => {
    expect(isLoopback(host)).toBe(false);
  },
);

test('An address that other machines can reach requires a configured key', () => {
  expect(openHostFaults({ LEHR_HOST: '0.0.0.0', LEHR_API_KEY: undefined })).toEqual([
    expect.stringContaining('set LEHR_API_KEY'),
  ]);
  expect(openHostFaults({ LEHR_HOST: '0.0.0.0', LEHR_API_KEY: 'a key of twenty or more' })).toEqual([]);
});

test('A key that was refused is not reported as missing as well', () => {
  expect(openHostFaults({ LEHR_HOST: '0.0.0.0' })).toEqual([]);
});

const SECRET = `whsec_${'A'.repeat(43)}=`;
const operator = (url: string | undefined, secret: string | undefined, more: object = {}) =>
  operatorWebhookFaults({
    LEHR_OPERATOR_WEBHOOK_URL: url,
    LEHR_OPERATOR_WEBHOOK_SECRET: secret,
    ...more,
  });

test('The webhook of operators needs its address and its secret, or neither', () => {
  expect(operator(undefined, undefined)).toEqual([]);
  expect(operator('https://hooks.example/lehr', SECRET)).toEqual([]);
  expect(operator('https://hooks.example/lehr', undefined)).toEqual([
    'LEHR_OPERATOR_WEBHOOK_SECRET is missing: LEHR_OPERATOR_WEBHOOK_URL is set',
  ]);
  expect(operator(undefined, SECRET)[0]).toContain('LEHR_OPERATOR_WEBHOOK_URL is missing');
});

test('The webhook of operators goes to a private address only if that is allowed', () => {
  const inside = 'https://10.1.2.3/lehr';
  expect(operator(inside, SECRET)[0]).toContain('LEHR_EGRESS_ALLOW');
  expect(operator(inside, SECRET, { LEHR_EGRESS_ALLOW: '10.1.0.0/16' })).toEqual([]);
});
