import { describe, expect, test } from 'vitest';
import { RETRY_DELAYS_MS, type Reply, verdictOf } from './attempt.ts';

const NOW = Date.parse('2026-11-20T08:00:00Z');
const tries = (made: number, random = 0.5) => ({ made, delaysMs: RETRY_DELAYS_MS, random, now: NOW });
const answer = (status: number, retryAfter?: string): Reply => ({ status, retryAfter });
const HOUR = 3_600_000;

test('Ten attempts are made in about three days: at once, then after 5 s, 5 min, 30 min, 2, 5, 10, 14, 20 and 24 hours', () => {
  const gaps: number[] = [];
  for (let made = 1; ; made++) {
    const verdict = verdictOf(answer(500), tries(made));
    if (verdict.state !== 'pending') {
      expect([made, verdict]).toEqual([10, { state: 'failed' }]);
      break;
    }
    gaps.push(verdict.retryInMs / 1000);
  }
  expect(gaps).toEqual([5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400]);
  expect(gaps.reduce((sum, each) => sum + each) / 86_400).toBeCloseTo(3.15, 2);
});

test('Each delay varies by at most a tenth', () => {
  for (const [made, delayMs] of RETRY_DELAYS_MS.entries()) {
    expect(verdictOf(answer(500), tries(made + 1, 0))).toMatchObject({
      retryInMs: Math.round(delayMs * 0.9),
    });
    expect(verdictOf(answer(500), tries(made + 1, 1))).toMatchObject({
      retryInMs: Math.round(delayMs * 1.1),
    });
  }
});

test.each([200, 201, 202, 204, 299])('Status %i ends a delivery as delivered, on any attempt', (status) => {
  for (const made of [1, 10]) expect(verdictOf(answer(status), tries(made))).toEqual({ state: 'delivered' });
});

test.each([301, 302, 307, 308, 400, 401, 404, 408, 418, 500, 501])(
  'An attempt that ends with status %i is retried',
  (status) => {
    expect(verdictOf(answer(status, '7200'), tries(1))).toEqual({ state: 'pending', retryInMs: 5000 });
    expect(verdictOf(answer(status), tries(10))).toEqual({ state: 'failed' });
  },
);

test.each(['refused', 'unreachable', 'timeout', 'too-large'] as const)(
  'An attempt that fails as %s is retried',
  (fault) => {
    expect(verdictOf({ fault }, tries(1))).toEqual({ state: 'pending', retryInMs: 5000 });
  },
);

test('Status 410 ends a delivery as gone', () => {
  expect(verdictOf(answer(410), tries(1))).toEqual({ state: 'gone' });
});

test('A delivery without retries has one attempt', () => {
  const once = { ...tries(1), delaysMs: [] };
  expect(verdictOf(answer(500), once)).toEqual({ state: 'failed' });
  expect(verdictOf(answer(204), once)).toEqual({ state: 'delivered' });
});

describe.each([429, 502, 503, 504])('status %i', (status) => {
  test.each([
    ['120', 120_000],
    [' 120 ', 120_000],
    ['Fri, 20 Nov 2026 08:02:00 GMT', 120_000],
    ['1', 5000],
    ['0', 5000],
    ['Fri, 20 Nov 2026 07:00:00 GMT', 5000],
    ['soon', 5000],
    ['', 5000],
    ['1.5', 5000],
    ['999999999', 24 * HOUR],
    [undefined, 5000],
  ])(`Status ${status} with Retry-After %j is retried after %i ms`, (retryAfter, retryInMs) => {
    expect(verdictOf(answer(status, retryAfter), tries(1))).toMatchObject({ state: 'pending', retryInMs });
  });

  test(`Status ${status} pauses the receiver for Retry-After, at most five minutes`, () => {
    expect(verdictOf(answer(status, '30'), tries(1))).toMatchObject({ pauseMs: 30_000 });
    expect(verdictOf(answer(status), tries(1))).toMatchObject({ pauseMs: 5000 });
    expect(verdictOf(answer(status, '7200'), tries(1))).toMatchObject({
      pauseMs: 300_000,
      retryInMs: 2 * HOUR,
    });
    expect(verdictOf(answer(status), tries(10))).toEqual({ state: 'failed', pauseMs: 5000 });
  });
});
