import { describe, expect, test } from 'vitest';
import { RETRY_DELAYS_MS, type Reply, verdictOf } from './schedule.ts';

const NOW = Date.parse('2026-11-20T08:00:00Z');
const tries = (made: number, random = 0.5) => ({ made, delaysMs: RETRY_DELAYS_MS, random, now: NOW });
const answer = (status: number, retryAfter?: string): Reply => ({ status, retryAfter });
const HOUR = 3_600_000;

test('ten attempts: at once, then after 5 s, 5 min, 30 min, 2, 5, 10, 14, 20 and 24 hours, about three days', () => {
  const gaps: number[] = [];
  for (let made = 1; ; made++) {
    const verdict = verdictOf(answer(500), tries(made));
    if (verdict.state !== 'pending') {
      expect([made, verdict]).toEqual([10, { state: 'failed' }]);
      break;
    }
    gaps.push(verdict.againMs / 1000);
  }
  expect(gaps).toEqual([5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400]);
  expect(gaps.reduce((sum, each) => sum + each) / 86_400).toBeCloseTo(3.15, 2);
});

test('each gap is up to a tenth shorter or longer, the first never longer than 30 s', () => {
  for (const [made, delayMs] of RETRY_DELAYS_MS.entries()) {
    expect(verdictOf(answer(500), tries(made + 1, 0))).toMatchObject({ againMs: Math.round(delayMs * 0.9) });
    expect(verdictOf(answer(500), tries(made + 1, 1))).toMatchObject({ againMs: Math.round(delayMs * 1.1) });
  }
});

test.each([200, 201, 202, 204, 299])('%i is a success, on any attempt', (status) => {
  for (const made of [1, 10]) expect(verdictOf(answer(status), tries(made))).toEqual({ state: 'delivered' });
});

test.each([301, 302, 307, 308, 400, 401, 404, 408, 418, 500, 501])('%i is tried again', (status) => {
  expect(verdictOf(answer(status, '7200'), tries(1))).toEqual({ state: 'pending', againMs: 5000 });
  expect(verdictOf(answer(status), tries(10))).toEqual({ state: 'failed' });
});

test.each(['refused', 'unreachable', 'timeout', 'too-large'] as const)('%s is tried again', (fault) => {
  expect(verdictOf({ fault }, tries(1))).toEqual({ state: 'pending', againMs: 5000 });
});

test('410 ends it at once', () => {
  expect(verdictOf(answer(410), tries(1))).toEqual({ state: 'gone' });
});

test('what is not retried has one attempt', () => {
  const once = { ...tries(1), delaysMs: [] };
  expect(verdictOf(answer(500), once)).toEqual({ state: 'failed' });
  expect(verdictOf(answer(204), once)).toEqual({ state: 'delivered' });
});

describe.each([429, 502, 503, 504])('%i', (status) => {
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
  ])('with Retry-After %j is tried again after %i ms at the earliest', (retryAfter, againMs) => {
    expect(verdictOf(answer(status, retryAfter), tries(1))).toMatchObject({ state: 'pending', againMs });
  });

  test('leaves the whole receiver alone meanwhile, five minutes at most', () => {
    expect(verdictOf(answer(status, '30'), tries(1))).toMatchObject({ pauseMs: 30_000 });
    expect(verdictOf(answer(status), tries(1))).toMatchObject({ pauseMs: 5000 });
    expect(verdictOf(answer(status, '7200'), tries(1))).toMatchObject({
      pauseMs: 300_000,
      againMs: 2 * HOUR,
    });
    expect(verdictOf(answer(status), tries(10))).toEqual({ state: 'failed', pauseMs: 5000 });
  });
});
