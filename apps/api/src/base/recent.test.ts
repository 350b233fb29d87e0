import { expect, test } from 'vitest';
import { Recent } from './recent.ts';

function counted(ttlMs: number, results: (() => Promise<number>)[] = [], staleMs = 0) {
  let now = 0;
  let loads = 0;
  const load = () => results[loads++]?.() ?? Promise.resolve(loads);
  const recent = new Recent(load, ttlMs, { monotonic: () => now }, staleMs);
  return { recent, loads: () => loads, pass: (ms: number) => (now += ms) };
}

test('Calls within the time to live share one load', async () => {
  const { recent, loads, pass } = counted(1000);
  expect(await Promise.all([recent.get(), recent.get()])).toEqual([1, 1]);
  pass(999);
  expect(await recent.get()).toBe(1);
  pass(1);
  expect(await recent.get()).toBe(2);
  expect(loads()).toBe(2);
});

test('A failure rejects its calls and is not cached', async () => {
  const { recent } = counted(1000, [() => Promise.reject(new Error('away'))]);
  await expect(recent.get()).rejects.toThrow('away');
  expect(await recent.get()).toBe(2);
});

test('While a result is only a little too old, calls get it at once and share one load of the next', async () => {
  let arrive: (value: number) => void = () => {};
  const slow = () => new Promise<number>((resolve) => (arrive = resolve));
  const { recent, loads, pass } = counted(1000, [() => Promise.resolve(1), slow], 500);
  await recent.get();
  pass(1200);
  expect([await recent.get(), await recent.get()]).toEqual([1, 1]);
  expect(loads()).toBe(2);
  arrive(7);
  await expect.poll(() => recent.get()).toBe(7);
  expect(loads()).toBe(2);
  pass(1500);
  expect(await recent.get()).toBe(3);
});

test('When the load behind a result fails, the result serves until it is too old, then the failure is reported', async () => {
  const fails = () => Promise.reject(new Error('away'));
  const { recent, pass } = counted(1000, [() => Promise.resolve(1), fails, fails, fails], 500);
  await recent.get();
  pass(1100);
  expect(await recent.get()).toBe(1);
  pass(399);
  expect(await recent.get()).toBe(1);
  pass(1);
  await expect(recent.get()).rejects.toThrow('away');
});
