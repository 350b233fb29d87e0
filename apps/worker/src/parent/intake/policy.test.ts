import type { GroupHead } from '@lehr/shared/queue';
import { expect, test } from 'vitest';
import type { Room } from '../runs/lane-rows.ts';
import { chooseGroup } from './policy.ts';

const head = (
  queue: string,
  waitedMs: number,
  priority: GroupHead['priority'] = 'standard',
  costMs?: number,
): GroupHead => ({
  queue,
  waiting: 3,
  priority,
  waitedMs,
  costMs,
});
const rooms =
  (by: Record<string, Room>) =>
  (queue: string): Room =>
    by[queue] ?? { freeRows: 8, running: false };

test('No group is chosen when no job waits', () => {
  expect(chooseGroup([], rooms({}))).toBeUndefined();
});

test('An idle worker chooses the group with the oldest head, and all the rows of its lane', () => {
  expect(chooseGroup([head('b', 10), head('a', 500)], rooms({}))).toEqual({ queue: 'a', rows: 8 });
});

test('A more urgent class goes before an older job', () => {
  const heads = [head('old', 9000, 'bulk'), head('urgent', 1, 'interactive')];
  expect(chooseGroup(heads, rooms({}))?.queue).toBe('urgent');
});

test('The running lane is filled although another group has waited a little longer', () => {
  const room = rooms({ warm: { freeRows: 2, running: true } });
  expect(chooseGroup([head('other', 1500), head('warm', 100)], room)).toEqual({
    queue: 'warm',
    rows: 2,
  });
});

test('A group that has waited longer than the limit is served before the running lane', () => {
  const room = rooms({ warm: { freeRows: 2, running: true } });
  expect(chooseGroup([head('other', 2500), head('warm', 100)], room)?.queue).toBe('other');
});

test('A full running lane does not keep another group waiting', () => {
  const room = rooms({ warm: { freeRows: 0, running: true } });
  expect(chooseGroup([head('warm', 5000), head('other', 1)], room)?.queue).toBe('other');
});

test('A new job of a more urgent class goes before the running lane', () => {
  const room = rooms({ warm: { freeRows: 2, running: true } });
  expect(chooseGroup([head('warm', 900), head('urgent', 1, 'interactive')], room)?.queue).toBe('urgent');
});

test('When a group without a lane has waited too long, the lane with the most free rows gets no more jobs', () => {
  const room = rooms({
    a: { freeRows: 2, running: true },
    b: { freeRows: 6, running: true },
    shut: { freeRows: 0, running: false },
  });
  expect(chooseGroup([head('a', 10), head('b', 900), head('shut', 3000)], room)?.queue).toBe('a');
  expect(chooseGroup([head('b', 900), head('shut', 3000)], room)).toBeUndefined();
  expect(chooseGroup([head('b', 900), head('shut', 1000)], room)?.queue).toBe('b');
});

test('A lane that became free goes to the group that was not served for longest, not to the oldest backlog', () => {
  const room = rooms({ a: { freeRows: 0, running: true } });
  const served: Record<string, number> = { a: 7, backlog: 9 };
  const heads = [head('a', 3_600_000), head('backlog', 3_600_000), head('newcomer', 3000)];
  expect(chooseGroup(heads, room, (queue) => served[queue] ?? 0)?.queue).toBe('newcomer');
});

test('While lanes and groups without one compete, every group is served in turn, whatever the age of its jobs', () => {
  const ages: Record<string, number> = { a: 9e6, b: 8e6, c: 7e6, d: 6e6, e: 5e6, newcomer: 3000 };
  const heads = Object.entries(ages).map(([queue, waitedMs]) => head(queue, waitedMs));
  const lastServed = new Map<string, number>();
  const lanes = new Set<string>();
  const room = (queue: string): Room =>
    lanes.has(queue) ? { freeRows: 0, running: true } : { freeRows: lanes.size < 4 ? 8 : 0, running: false };
  for (let claim = 1; claim <= 12; claim++) {
    const choice = chooseGroup(heads, room, (queue) => lastServed.get(queue) ?? 0);
    if (!choice) throw new Error('no group is chosen although a lane is free');
    lastServed.set(choice.queue, claim);
    lanes.add(choice.queue);
    // The lane that was opened first runs empty.
    if (lanes.size === 4) lanes.delete([...lanes][0]);
  }
  expect([...lastServed.keys()].sort()).toEqual(Object.keys(ages).sort());
});

test('A full lane is served with one job when the head of its group is short enough', () => {
  const room = rooms({ full: { freeRows: 0, running: true, shortJobMs: 500 } });
  expect(chooseGroup([head('full', 10, 'standard', 500)], room)).toEqual({ queue: 'full', rows: 1 });
  expect(chooseGroup([head('full', 10, 'standard', 501)], room)).toBeUndefined();
  expect(chooseGroup([head('full', 10)], room)).toBeUndefined();
});

test('A group with room goes before a short job of a full lane', () => {
  const room = rooms({ full: { freeRows: 0, running: true, shortJobMs: 500 } });
  const heads = [head('full', 900, 'interactive', 1), head('other', 10, 'bulk', 9000)];
  expect(chooseGroup(heads, room)?.queue).toBe('other');
});

test('No lane takes short jobs while another group waits for one to run empty', () => {
  const room = rooms({
    full: { freeRows: 0, running: true, shortJobMs: 500 },
    shut: { freeRows: 0, running: false },
  });
  expect(chooseGroup([head('full', 10, 'standard', 1), head('shut', 3000)], room)).toBeUndefined();
  expect(chooseGroup([head('full', 10, 'standard', 1), head('shut', 1000)], room)?.queue).toBe('full');
});

test('A job that waits too long for a lane makes no lane of a less urgent class leave', () => {
  const room = rooms({ warm: { freeRows: 2, running: true }, shut: { freeRows: 0, running: false } });
  expect(chooseGroup([head('warm', 10, 'standard'), head('shut', 3000, 'interactive')], room)).toEqual({
    queue: 'warm',
    rows: 2,
  });
  expect(chooseGroup([head('warm', 10, 'interactive'), head('shut', 3000)], room)).toBeUndefined();
});

test('A job that waits too long for a lane makes a lane of pictures leave, and never one that takes no place of others', () => {
  const room = rooms({
    texts: { freeRows: 700, running: true, isUnlimited: true },
    warm: { freeRows: 2, running: true },
    shut: { freeRows: 0, running: false },
  });
  const heads = [head('warm', 900), head('texts', 10), head('shut', 3000)];
  expect(chooseGroup(heads, room)?.queue).toBe('texts');
});

test('The room that counts is that for the class of the head', () => {
  const heads = [head('a', 9000, 'bulk'), head('b', 1, 'standard')];
  const room = (_: string, priority: GroupHead['priority']): Room => ({
    freeRows: priority === 'standard' ? 4 : 0,
    running: false,
  });
  expect(chooseGroup(heads, room)).toEqual({ queue: 'b', rows: 4 });
});
