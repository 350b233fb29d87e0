import { ENV } from '@lehr/shared';
import { expect, test } from 'vitest';
import { isLoopback, openHostFaults, operatorWebhookFaults, settingsOf } from './env.ts';

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

const SECRETS = Object.entries(ENV)
  .filter(([, schema]) => (schema.meta() as { secret?: boolean } | undefined)?.secret)
  .map(([name]) => name);

test('No setting shows the value of a secret, but whether it is set', () => {
  const config = Object.fromEntries(SECRETS.map((name) => [name, `the value of ${name}`]));
  const settings = settingsOf({ ...config, HF_TOKEN: undefined });
  expect(settings.length).toBeGreaterThan(8);
  expect(JSON.stringify(settings)).not.toContain('the value of');
  expect(settings.filter(({ is_set }) => !is_set).map(({ name }) => name)).toEqual(['HF_TOKEN']);
});

test('Other settings show their value in force, lists with commas and addresses without a user', () => {
  const settings = settingsOf({
    LEHR_MAX_WAIT_S: 600,
    LEHR_TRUSTED_PROXIES: ['10.0.0.1', '10.1.0.0/16'],
    AWS_ENDPOINT_URL_S3: 'https://ada:secret@s3.example/x',
    LEHR_PUBLIC_URL: undefined,
    NOT_OURS: 'x',
  });
  expect(settings.map(({ name, value }) => [name, value])).toEqual([
    ['AWS_ENDPOINT_URL_S3', 'https://s3.example/x'],
    ['LEHR_MAX_WAIT_S', '600'],
    ['LEHR_PUBLIC_URL', null],
    ['LEHR_TRUSTED_PROXIES', '10.0.0.1,10.1.0.0/16'],
  ]);
  expect(settings[1].description).toContain('wait');
});

test('A password with an @ is not shown either', () => {
  const [{ value }] = settingsOf({ AWS_ENDPOINT_URL_S3: 'https://ada:p@secret@s3.example/a@b' });
  expect(value).toBe('https://s3.example/a@b');
});
