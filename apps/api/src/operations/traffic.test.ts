import type { Counts } from '@lehr/shared';
import { expect, test } from 'vitest';
import { RateWindow } from './traffic.ts';

const reading = (s: number, counts: Record<string, Counts>) => ({
  at: s * 1000,
  counts: new Map(Object.entries(counts)),
});

test('The first reading has no rates', () => {
  const rates = new RateWindow().add(reading(0, { a: { requests: 100 } }));
  expect([rates.windowS, rates.of('a', 'requests'), rates.sum('requests')]).toEqual([null, null, null]);
});

test('Rates and means are those of the time since the oldest reading of the last ten seconds', () => {
  const window = new RateWindow();
  window.add(reading(0, { a: { requests: 1_000 } }));
  window.add(reading(8, { a: { requests: 0, requests_s: 0 } }));
  const rates = window.add(reading(12, { a: { requests: 40, requests_s: 2 }, b: { requests: 7 } }));
  expect(rates.windowS).toBe(4);
  expect([rates.of('a', 'requests'), rates.meanMs('a', 'requests'), rates.of('b', 'requests')]).toEqual([
    10,
    50,
    null,
  ]);
  expect([rates.sum('requests'), rates.meanMsOfAll('requests')]).toEqual([10, 50]);
});

test('A process that started again counts from zero, and what happened never is no mean', () => {
  const window = new RateWindow();
  window.add(reading(0, { a: { requests: 500 } }));
  const rates = window.add(reading(2, { a: { requests: 4 } }));
  expect([rates.of('a', 'requests'), rates.of('a', 'errors'), rates.meanMs('a', 'errors')]).toEqual([
    2,
    0,
    null,
  ]);
});

test('After a pause of more than the window there are no rates', () => {
  const window = new RateWindow();
  window.add(reading(0, { a: { requests: 1 } }));
  expect(window.add(reading(30, { a: { requests: 9 } })).windowS).toBeNull();
});
