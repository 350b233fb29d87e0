import { expect, test } from 'vitest';
import { describeAddress, redisAddress, sentinelOptions } from './address.ts';

test('A URL with Sentinels names the master, the Sentinels and their password', () => {
  const url = 'rediss://ada:p%40ss@primary/2?sentinels=one,two:26380&sentinelPassword=s%26cret';
  const address = redisAddress({ LEHR_REDIS_URL: url });
  expect(address.url).toBe('rediss://ada:p%40ss@primary/2');
  expect(sentinelOptions(address)).toMatchObject({
    name: 'primary',
    username: 'ada',
    password: 'p@ss',
    db: 2,
    sentinels: [
      { host: 'one', port: 26_379 },
      { host: 'two', port: 26_380 },
    ],
    sentinelPassword: 's&cret',
    enableTLSForSentinelMode: true,
  });
  expect(describeAddress(address)).toBe('primary (Sentinels one, two:26380)');
});

test('A URL without Sentinels is used as it is', () => {
  const url = 'redis://:secret@127.0.0.1:6379/1?family=6';
  expect(redisAddress({ LEHR_REDIS_URL: url })).toEqual({ url });
});
