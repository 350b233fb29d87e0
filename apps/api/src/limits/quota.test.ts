import { expect, test } from 'vitest';
import { jitteredRetryAfterS, QuotaError, quotaHeaders, randomRetryAfterS } from './quota.ts';

const many = (draw: () => number): number[] => Array.from({ length: 2000 }, draw);

test.each([
  [0, 1, 2],
  [0.2, 1, 2],
  [10, 10, 13],
  [48, 48, 60],
  [3600, 48, 60],
])('a wait of %d s is told as %d to %d whole seconds, spread', (seconds, least, most) => {
  const told = many(() => jitteredRetryAfterS(seconds));
  expect(Math.min(...told)).toBe(least);
  expect(Math.max(...told)).toBe(most);
  expect(told.every(Number.isInteger)).toBe(true);
});

test.each([
  [0, 1],
  [3, 3],
  [7200, 60],
])('who is too busy for %d s sends callers away for 1 to %d s', (seconds, most) => {
  const told = many(() => randomRetryAfterS(seconds));
  expect(Math.min(...told)).toBe(1);
  expect(Math.max(...told)).toBe(most);
});

test('a quota is told in the words of the draft, its policy only where there is one', () => {
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
