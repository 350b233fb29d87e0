import { expect, test } from 'vitest';
import { isLoopback, openHostFaults } from './env.ts';

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
