import { expect, test } from 'vitest';
import { jitteredRetryAfterS, QuotaError, quotaHeaders, randomRetryAfterS } from './quotas.ts';

const many = (draw: () => number): number[] => Array.from({ length: 2000 }, draw);

test.each([
  [0, 1, 2],
  [0.2, 1, 2],
  [10, 10, 13],
  [48, 48, 60],
  [3600, 48, 60],
])('Retry-After for a wait of %d s is a random whole number from %d to %d', (seconds, least, most) => {
  const values = many(() => jitteredRetryAfterS(seconds));
  expect(Math.min(...values)).toBe(least);
  expect(Math.max(...values)).toBe(most);
  expect(values.every(Number.isInteger)).toBe(true);
});

test.each([
  [0, 1],
  [3, 3],
  [7200, 60],
])('Retry-After of a server that is busy for %d s is a random whole number from 1 to %d', (seconds, most) => {
  const values = many(() => randomRetryAfterS(seconds));
  expect(Math.min(...values)).toBe(1);
  expect(Math.max(...values)).toBe(most);
});

test('The headers of a quota follow the IETF draft, with a policy only if there is one', () => {
  const quota = { limit: 600, remaining: 12, resetS: 40 };
  expect(quotaHeaders(quota)).toEqual({
    'ratelimit-limit': '600',
    'ratelimit-remaining': '12',
    'ratelimit-reset': '40',
  });
  expect(quotaHeaders({ ...quota, policy: { unit: 'requests', windowS: 60 } })['ratelimit-policy']).toBe(
    '600;w=60;comment="requests"',
  );
  expect(new QuotaError('enough', quota)).toMatchObject({ code: 'rate-limited', status: 429 });
});
