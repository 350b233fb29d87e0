import type { GroupHead } from '@lehr/shared/queue';
import { expect, test } from 'vitest';
import { chooseGroup, type Room } from './policy.ts';

const NOW = 100_000;
const head = (queue: string, waitedMs: number, priority: GroupHead['priority'] = 'standard'): GroupHead => ({
  queue,
  waiting: 3,
  priority,
  since: NOW - waitedMs,
});
const rooms =
  (by: Record<string, Room>) =>
  (queue: string): Room =>
    by[queue] ?? { freeRows: 8, running: false };

test('nothing waiting means nothing to take', () => {
  expect(chooseGroup([], rooms({}), NOW)).toBeUndefined();
});

test('an idle worker takes the oldest head, and all the rows its lane can have', () => {
  expect(chooseGroup([head('b', 10), head('a', 500)], rooms({}), NOW)).toEqual({ queue: 'a', rows: 8 });
});

test('a more urgent class goes before an older job', () => {
  const heads = [head('old', 9000, 'bulk'), head('urgent', 1, 'interactive')];
  expect(chooseGroup(heads, rooms({}), NOW)?.queue).toBe('urgent');
});

test('the running lane is fed although another group has waited a little longer', () => {
  const room = rooms({ warm: { freeRows: 2, running: true } });
  expect(chooseGroup([head('other', 1500), head('warm', 100)], room, NOW)).toEqual({
    queue: 'warm',
    rows: 2,
  });
});

test('a group that has waited longer than the limit is served before the running lane', () => {
  const room = rooms({ warm: { freeRows: 2, running: true } });
  expect(chooseGroup([head('other', 2500), head('warm', 100)], room, NOW)?.queue).toBe('other');
});

test('a full running lane does not keep another group waiting', () => {
  const room = rooms({ warm: { freeRows: 0, running: true } });
  expect(chooseGroup([head('warm', 5000), head('other', 1)], room, NOW)?.queue).toBe('other');
});

test('an urgent newcomer is not put behind the running lane', () => {
  const room = rooms({ warm: { freeRows: 2, running: true } });
  expect(chooseGroup([head('warm', 900), head('urgent', 1, 'interactive')], room, NOW)?.queue).toBe('urgent');
});

test('when every lane is taken and somebody without one waits too long, the emptiest lane is left to run dry', () => {
  const room = rooms({
    a: { freeRows: 2, running: true },
    b: { freeRows: 6, running: true },
    shut: { freeRows: 0, running: false },
  });
  expect(chooseGroup([head('a', 10), head('b', 900), head('shut', 3000)], room, NOW)?.queue).toBe('a');
  expect(chooseGroup([head('b', 900), head('shut', 3000)], room, NOW)).toBeUndefined();
  expect(chooseGroup([head('b', 900), head('shut', 1000)], room, NOW)?.queue).toBe('b');
});
