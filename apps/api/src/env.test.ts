import { readConfig } from '@lehr/shared';
import { expect, test } from 'vitest';
import { API_ENV, checkTogether, isLoopback } from './env.ts';

test.each(['127.0.0.1', '127.1.2.3', 'localhost', '::1'])('%s is a loopback address', (host) => {
  expect(isLoopback(host)).toBe(true);
});

test.each(['0.0.0.0', '::', '10.0.0.1', '127.0.0.1.example.com', 'lehr.example'])(
  '%s is not a loopback address',
  (host) => {
    expect(isLoopback(host)).toBe(false);
  },
);

test('An address that other machines can reach needs a configured key', () => {
  const config = readConfig(API_ENV, { LEHR_HOST: '0.0.0.0' });
  expect(() => checkTogether(config)).toThrow(/LEHR_API_KEY/);
  checkTogether({ ...config, LEHR_API_KEY: 'a key of twenty or more' });
});

test('An S3 store needs a bucket', () => {
  const config = readConfig(API_ENV, { LEHR_STORE: 's3' });
  expect(() => checkTogether(config)).toThrow(/LEHR_S3_BUCKET is missing/);
});
