import { expect, test } from 'vitest';
import { RecentlyUsed } from './recently-used.ts';

test('Beyond the limit, the entry that was read or written longest ago is forgotten', () => {
  const entries = new RecentlyUsed<string, number>(2);
  entries.set('a', 1);
  entries.set('b', 2);
  expect(entries.get('a')).toBe(1);
  entries.set('c', 3);
  expect([...entries.values()]).toEqual([1, 3]);
  expect(entries.get('b')).toBeUndefined();
});

test('Entries that must be kept stay beyond the limit, and go at the first write after that is over', () => {
  const busy = new Set([1, 2]);
  const entries = new RecentlyUsed<string, number>(1, (value) => busy.has(value));
  entries.set('a', 1);
  entries.set('b', 2);
  expect(entries.size).toBe(2);
  busy.clear();
  entries.set('c', 3);
  expect([...entries.values()]).toEqual([3]);
});
