import { expect, test } from 'vitest';
import { atPercent, shares, startedBefore } from './figures.ts';

test('The shares of tenants are counted in parts of the order, and a shorter last part is left out', () => {
  const order = ['a', 'b', 'a', 'a', 'b', 'new', 'a'];
  expect(shares(order, ['a', 'b'], 3)).toEqual([
    [2, 1],
    [1, 1],
  ]);
});

test('An order that is too short for one part gives no shares', () => {
  expect(shares(['a'], ['a'], 0)).toEqual([]);
  expect(shares(['a'], ['a'], 2)).toEqual([]);
});

test('The value at a percentage is the nearest one at or above it', () => {
  expect(atPercent([30, 10, 20, 40], 50)).toBe(20);
  expect(atPercent([30, 10, 20, 40], 99)).toBe(40);
  expect(atPercent([], 50)).toBeNaN();
});

test('Only jobs that were started while a newcomer waited count for its wait', () => {
  const start = (tenant: string, createdAt: number, startedAt: number) => ({ tenant, createdAt, startedAt });
  const starts = [
    start('a', 0, 5),
    start('a', 0, 11),
    start('a', 0, 12),
    start('new', 10, 13),
    start('a', 0, 14),
  ];
  expect(startedBefore(starts, (tenant) => tenant === 'new')).toEqual([2]);
});
