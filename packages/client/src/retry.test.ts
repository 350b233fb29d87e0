import { expect, test } from 'vitest';
import { LehrError } from './lehr-error.ts';
import { pause, RETRY_POLICY, retryDelayMs } from './retry.ts';

const refused = (status: number, retryAfterMs?: number) =>
  new LehrError('unavailable', 'refused', { status, retryAfterMs });
const unanswered = new LehrError('connection-failed', 'no answer');
const middle = () => 0.5;

test('pauses double up to a limit, and are spread by a quarter to either side', () => {
  const delays = [1, 2, 3, 4, 5, 6].map((attempt) => retryDelayMs(unanswered, attempt, RETRY_POLICY, middle));
  expect(delays).toEqual([250, 500, 1000, 2000, 4000, 8000]);
  const patient = { ...RETRY_POLICY, maxRetries: 100 };
  expect(retryDelayMs(unanswered, 90, patient, middle)).toBe(8000);
  expect(retryDelayMs(unanswered, 1, RETRY_POLICY, () => 0)).toBe(187.5);
  expect(retryDelayMs(unanswered, 1, RETRY_POLICY, () => 1)).toBe(312.5);
});

test('after the last retry it is over', () => {
  expect(retryDelayMs(unanswered, RETRY_POLICY.maxRetries)).toBeDefined();
  expect(retryDelayMs(unanswered, RETRY_POLICY.maxRetries + 1)).toBeUndefined();
  expect(retryDelayMs(unanswered, 1, { ...RETRY_POLICY, maxRetries: 0 })).toBeUndefined();
});

test('only what passes by itself is tried again', () => {
  for (const status of [408, 429, 502, 503, 504]) expect(retryDelayMs(refused(status), 1)).toBeDefined();
  for (const status of [400, 401, 403, 404, 409, 410, 413, 422, 500]) {
    expect(retryDelayMs(refused(status), 1)).toBeUndefined();
  }
  expect(retryDelayMs(new LehrError('timed-out', 'too long'), 1)).toBeUndefined();
  expect(retryDelayMs(new LehrError('bad-answer', 'not ours'), 1)).toBeUndefined();
});

test('a Retry-After is obeyed as it is, or not waited for at all', () => {
  expect(retryDelayMs(refused(429, 1500), 1)).toBe(1500);
  expect(retryDelayMs(refused(503, 0), 5)).toBe(0);
  expect(retryDelayMs(refused(503, 60_001), 1)).toBeUndefined();
});

test('a pause ends with an abort, and leaves no listener behind', async () => {
  const abort = new AbortController();
  await pause(0, abort.signal);
  const paused = pause(60_000, abort.signal);
  abort.abort(new Error('enough'));
  await expect(paused).rejects.toThrow('enough');
  await expect(pause(0, abort.signal)).rejects.toThrow('enough');
});
