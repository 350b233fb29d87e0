import { expect, test } from 'vitest';
import { LehrError } from './lehr-error.ts';
import { pause, RETRY_POLICY, retryDelayMs } from './retry.ts';

const refused = (status: number, retryAfterMs?: number) =>
  new LehrError('unavailable', 'refused', { status, retryAfterMs });
const unanswered = new LehrError('connection-failed', 'no answer');
const middle = () => 0.5;

test('The backoff doubles up to a limit, with a jitter of a quarter in both directions', () => {
  const delays = [1, 2, 3, 4, 5, 6].map((attempt) => retryDelayMs(unanswered, attempt, RETRY_POLICY, middle));
  expect(delays).toEqual([250, 500, 1000, 2000, 4000, 8000]);
  const patient = { ...RETRY_POLICY, maxRetries: 100 };
  expect(retryDelayMs(unanswered, 90, patient, middle)).toBe(8000);
  expect(retryDelayMs(unanswered, 1, RETRY_POLICY, () => 0)).toBe(187.5);
  expect(retryDelayMs(unanswered, 1, RETRY_POLICY, () => 1)).toBe(312.5);
});

test('A call is not retried after the last retry', () => {
  expect(retryDelayMs(unanswered, RETRY_POLICY.maxRetries)).toBeDefined();
  expect(retryDelayMs(unanswered, RETRY_POLICY.maxRetries + 1)).toBeUndefined();
  expect(retryDelayMs(unanswered, 1, { ...RETRY_POLICY, maxRetries: 0 })).toBeUndefined();
});

test('Only temporary failures are retried', () => {
  for (const status of [408, 429, 502, 503, 504]) expect(retryDelayMs(refused(status), 1)).toBeDefined();
  for (const status of [400, 401, 403, 404, 409, 410, 413, 422, 500]) {
    expect(retryDelayMs(refused(status), 1)).toBeUndefined();
  }
  expect(retryDelayMs(new LehrError('timed-out', 'too long'), 1)).toBeUndefined();
  expect(retryDelayMs(new LehrError('bad-answer', 'not ours'), 1)).toBeUndefined();
});

test('The delay is exactly Retry-After, or the call is not retried when that is too long', () => {
  expect(retryDelayMs(refused(429, 1500), 1)).toBe(1500);
  expect(retryDelayMs(refused(503, 0), 5)).toBe(0);
  expect(retryDelayMs(refused(503, 60_001), 1)).toBeUndefined();
});

test('A pause ends at an abort and removes its listener', async () => {
  const abort = new AbortController();
  await pause(0, abort.signal);
  const paused = pause(60_000, abort.signal);
  abort.abort(new Error('enough'));
  await expect(paused).rejects.toThrow('enough');
  await expect(pause(0, abort.signal)).rejects.toThrow('enough');
});
