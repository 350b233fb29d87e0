import { expect, test } from 'vitest';
import { Recent } from './recent.ts';

function counted(ttlMs: number, results: (() => Promise<number>)[] = []) {
  let now = 0;
  let loads = 0;
  const load = () => results[loads++]?.() ?? Promise.resolve(loads);
  const recent = new Recent(load, ttlMs, { monotonic: () => now });
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
