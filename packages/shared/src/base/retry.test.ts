import { expect, test } from 'vitest';
import { manualClock } from '../../../../test/support/manual-clock.ts';
import { backoffMs, retry, withJitter } from './retry.ts';

const BACKOFF = { firstMs: 100, maxMs: 1000 };

/** Fails this many times, then returns `done`. */
function failing(times: number): () => Promise<string> {
  let made = 0;
  return async () => {
    made += 1;
    if (made <= times) throw new Error(`failure ${made}`);
    return 'done';
  };
}

test('The pause doubles with each failure, up to the longest', () => {
  expect([1, 2, 3, 4, 5, 5000].map((failures) => backoffMs(BACKOFF, failures))).toEqual([
    100, 200, 400, 800, 1000, 1000,
  ]);
});

test('Attempts are made until one succeeds, each after the pause that was announced', async () => {
  const clock = manualClock();
  const pauses: number[] = [];
  const onFailure = (_: unknown, pauseMs: number) => void pauses.push(pauseMs);
  expect(await clock.until(retry(failing(3), { ...BACKOFF, clock, onFailure }))).toBe('done');
  expect(clock.now()).toBe(pauses.reduce((sum, pause) => sum + pause, 0));
  for (const [i, pause] of pauses.entries()) {
    expect(pause).toBeGreaterThanOrEqual(backoffMs(BACKOFF, i + 1) / 2);
    expect(pause).toBeLessThanOrEqual(backoffMs(BACKOFF, i + 1));
  }
});

test('No further attempt is made when the report of a failure throws', async () => {
  const seen: unknown[] = [];
  const onFailure = (error: unknown) => {
    seen.push(error);
    if (seen.length === 2) throw error;
  };
  const clock = manualClock();
  const retried = retry(failing(5), { ...BACKOFF, clock, onFailure });
  await expect(clock.until(retried)).rejects.toThrow('failure 2');
  expect(seen).toHaveLength(2);
});

test('A signal ends the pause', async () => {
  const stop = new AbortController();
  const clock = manualClock();
  const onFailure = () => stop.abort();
  expect(await retry(failing(1), { ...BACKOFF, clock, signal: stop.signal, onFailure })).toBe('done');
  expect(clock.now()).toBe(0);
});

test('What failed together is not tried again together', () => {
  const pauses = Array.from({ length: 20 }, () => withJitter(1000));
  expect(new Set(pauses).size).toBeGreaterThan(1);
});
