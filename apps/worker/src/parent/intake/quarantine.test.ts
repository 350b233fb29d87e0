import { expect, test } from 'vitest';
import {
  type Clock,
  createLog,
  type ErrorCode,
  newJobId,
  type TenantId,
} from '../../../../../packages/shared/src/index.ts';
import { Quarantine } from './quarantine.ts';

const FIRST_PAUSE_MS = 1000;
const jobOf = (tenant = 'a') => ({ id: newJobId(), tenant: tenant as TenantId });

/** A quarantine whose pauses end by `endPause`. */
function quarantine() {
  const pauses: number[] = [];
  const calls: string[] = [];
  const time = { ms: 0 };
  let wake = (): void => {};
  const clock: Clock = {
    now: () => 0,
    monotonic: () => time.ms,
    sleep: (ms) => {
      pauses.push(ms);
      return new Promise((resolve) => {
        wake = resolve;
      });
    },
  };
  const watched = new Quarantine({
    clock,
    log: createLog('worker', 'silent'),
    firstPauseMs: FIRST_PAUSE_MS,
    restartEngine: () => calls.push('restart'),
    onOver: () => calls.push('over'),
  });
  const fail = (count: number, code: ErrorCode = 'engine-failed', tenant?: string): void => {
    for (let i = 0; i < count; i++) watched.failed(jobOf(tenant), code);
  };
  const endPause = async (): Promise<void> => {
    wake();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { watched, pauses, calls, time, fail, endPause };
}

test('A worker is put into quarantine when five jobs in a row fail, and no success was among them', () => {
  const { watched, fail, pauses } = quarantine();
  fail(4);
  watched.succeeded(jobOf());
  fail(4, 'out-of-memory');
  expect(watched.reason).toBeUndefined();
  fail(1, 'engine-crashed');
  expect(watched.reason).toBe('5 jobs in a row failed, the last one with engine-crashed');
  expect(pauses).toEqual([FIRST_PAUSE_MS]);
});

test('One job that fails again and again does not put a worker into quarantine', () => {
  const { watched } = quarantine();
  const poison = jobOf();
  for (let i = 0; i < 50; i++) watched.failed(poison, 'engine-crashed');
  expect(watched.reason).toBeUndefined();
});

test('Numeric errors of one tenant put a worker into quarantine only when it has had jobs of no other tenant', () => {
  const { watched, fail } = quarantine();
  watched.succeeded(jobOf('polite'));
  fail(30, 'numeric-error', 'attacker');
  expect(watched.reason).toBeUndefined();
  fail(1, 'numeric-error', 'polite');
  expect(watched.reason).toBe('31 jobs in a row failed, the last one with numeric-error');
});

test('A tenant whose jobs ended here long ago keeps no worker from quarantine at which all jobs of its only tenant fail', () => {
  const { watched, fail, time } = quarantine();
  watched.succeeded(jobOf('gone'));
  time.ms = 2 * 3_600_000;
  watched.succeeded(jobOf('only'));
  fail(5, 'engine-failed', 'only');
  expect(watched.reason).toBe('5 jobs in a row failed, the last one with engine-failed');
});

test('Failures that are the fault of the input or the store do not count', () => {
  const { watched, fail } = quarantine();
  for (const code of ['invalid-audio', 'storage-failed', 'unavailable', 'run-too-long'] as const)
    fail(5, code);
  expect(watched.reason).toBeUndefined();
});

test('A worker is put into quarantine when half of its last twenty jobs produced no valid numbers', () => {
  const { watched, fail } = quarantine();
  for (let i = 0; i < 9; i++) {
    watched.succeeded(jobOf());
    fail(1, 'numeric-error');
  }
  watched.succeeded(jobOf());
  expect(watched.reason).toBeUndefined();
  fail(1, 'numeric-error');
  expect(watched.reason).toBe('10 of the last 20 jobs produced no valid numbers');
});

test('After a pause the engine is restarted, and two more failures in a row double the pause', async () => {
  const { watched, fail, pauses, calls, endPause } = quarantine();
  fail(5);
  await endPause();
  expect(watched.reason).toBeUndefined();
  expect(calls).toEqual(['restart', 'over']);
  fail(2);
  expect(watched.reason).toBeDefined();
  await endPause();
  watched.succeeded(jobOf());
  fail(4);
  expect(watched.reason).toBeUndefined();
  fail(1);
  expect(pauses).toEqual([FIRST_PAUSE_MS, 2 * FIRST_PAUSE_MS, FIRST_PAUSE_MS]);
});
