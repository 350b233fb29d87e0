import { type LeaseToken, MAX_LANES } from '@lehr/shared';
import { expect, test } from 'vitest';
import type { SampleId } from '../../engine/protocol/messages.ts';
import { LaneRows } from './lane-rows.ts';

const LANE = 'diffusion.tiny@1.64x64';
const sample = (n: number): SampleId => `sample-${n}` as SampleId;
const lease = (n: number): LeaseToken => `lease-${n}` as LeaseToken;

function laneRows({ cap = 8, usualRows = 1 } = {}): { rows: LaneRows; freed: () => number } {
  let freed = 0;
  const defaults = { firstCap: () => cap, usualRows: () => usualRows };
  const rows = new LaneRows(defaults, () => {
    freed += 1;
  });
  return { rows, freed: () => freed };
}

test('A lane has the room that its samples and its reservations leave', () => {
  const { rows } = laneRows();
  expect(rows.room(LANE)).toEqual({ running: false, freeRows: 8 });
  rows.take(sample(1), LANE, 2);
  rows.reserve(lease(1), LANE, 1);
  expect(rows.room(LANE)).toEqual({ running: true, freeRows: 5 });
});

test('A lane with nothing but reserved rows is running', () => {
  const { rows } = laneRows();
  rows.reserve(lease(1), LANE, 1);
  expect(rows.room(LANE)).toEqual({ running: true, freeRows: 7 });
  rows.unreserve(lease(1));
  expect(rows.room(LANE)).toEqual({ running: false, freeRows: 8 });
});

test('A worker that serves five hundred groups once remembers the caps of a bounded number of lanes', () => {
  const { rows } = laneRows();
  for (let i = 0; i < 500; i++) rows.setCap(`diffusion.tiny@1.64x${64 + 8 * i}`, 2);
  expect(rows.caps).toBeLessThanOrEqual(256);
  expect(rows.cap(`diffusion.tiny@1.64x${64 + 8 * 499}`)).toBe(2);
  expect(rows.cap('diffusion.tiny@1.64x64')).toBe(8);
});

test('A running lane counts as full when the usual job does not fit into it', () => {
  const { rows } = laneRows({ cap: 3, usualRows: 2 });
  rows.take(sample(1), LANE, 2);
  expect(rows.room(LANE)).toEqual({ running: true, freeRows: 0 });
});

test('An empty lane has room for a job that is wider than its row cap', () => {
  const { rows } = laneRows({ cap: 1, usualRows: 2 });
  expect(rows.room(LANE).freeRows).toBe(1);
  expect(rows.usualJobs(LANE, 1)).toBe(1);
});

test('No further lane has room while the most lanes are running', () => {
  const { rows } = laneRows();
  for (let n = 0; n < MAX_LANES - 1; n += 1) rows.take(sample(n), `lane-${n}`, 1);
  rows.reserve(lease(1), 'lane-reserved', 1);
  expect(rows.room(LANE)).toEqual({ running: false, freeRows: 0 });
  expect(rows.room('lane-0')).toEqual({ running: true, freeRows: 7 });
});

test('The rows of a sample are freed once, and the listener is called once', () => {
  const { rows, freed } = laneRows();
  rows.take(sample(1), LANE, 2);
  rows.release(sample(1));
  rows.release(sample(1));
  expect(freed()).toBe(1);
  expect(rows.room(LANE).freeRows).toBe(8);
});

test('A dead engine frees the rows of its samples and keeps the reservations', () => {
  const { rows } = laneRows();
  rows.take(sample(1), LANE, 4);
  rows.reserve(lease(1), LANE, 1);
  rows.releaseAll();
  expect(rows.room(LANE)).toEqual({ running: true, freeRows: 7 });
});

test('A measured row cap replaces the assumed one', () => {
  const { rows, freed } = laneRows();
  rows.setCap(LANE, 2);
  expect([rows.cap(LANE), rows.cap('another'), freed()]).toEqual([2, 8, 1]);
});

test('A job of more rows than one may count leaves room for others, before and after it is submitted', () => {
  const defaults = { firstCap: () => 800, usualRows: () => 10, mostRows: () => 100 };
  const rows = new LaneRows(defaults, () => {});
  rows.reserve(lease(1), LANE, 5000);
  expect(rows.room(LANE)).toEqual({ running: true, freeRows: 700 });
  rows.unreserve(lease(1));
  rows.take(sample(1), LANE, 5000);
  rows.take(sample(2), LANE, 20);
  expect(rows.room(LANE)).toEqual({ running: true, freeRows: 680 });
  expect(rows.usage(LANE)).toMatchObject({ rows: 120, samples: 2 });
});

test('A full lane has room for a job with a third of the cost that one in it has still to go', () => {
  const defaults = { firstCap: () => 4, usualRows: () => 2, canPause: () => true };
  const rows = new LaneRows(defaults, () => {});
  rows.take(sample(1), LANE, 2, 9000);
  expect(rows.room(LANE)).toEqual({ running: true, freeRows: 2 });
  rows.reserve(lease(1), LANE, 2, 3000);
  expect(rows.room(LANE)).toEqual({ running: true, freeRows: 0, shortJobMs: 3000 });
  rows.stepped(sample(1), 0.8);
  expect(rows.room(LANE).shortJobMs).toBeCloseTo(1000);
});

test('A lane takes short jobs up to twice its row cap', () => {
  const defaults = { firstCap: () => 4, usualRows: () => 2, canPause: () => true };
  const rows = new LaneRows(defaults, () => {});
  for (const n of [1, 2, 3]) rows.take(sample(n), LANE, 2, 900);
  expect(rows.room(LANE).shortJobMs).toBe(300);
  rows.take(sample(4), LANE, 2, 900);
  expect(rows.room(LANE)).toEqual({ running: true, freeRows: 0 });
});

test('A full lane whose samples cannot pause has no room', () => {
  const { rows } = laneRows({ cap: 2 });
  rows.take(sample(1), LANE, 2, 9000);
  expect(rows.room(LANE)).toEqual({ running: true, freeRows: 0 });
});

test('Lanes of a less urgent class are not counted: a more urgent job gets a lane, and its whole cap beside the rows of others', () => {
  const { rows } = laneRows();
  for (let n = 0; n < MAX_LANES; n += 1) rows.take(sample(n), `lane-${n}`, 8, 1000, 'bulk');
  expect(rows.room(LANE, 'bulk')).toEqual({ running: false, freeRows: 0 });
  expect(rows.room(LANE, 'standard')).toEqual({ running: false, freeRows: 8 });
  rows.take(sample(9), 'lane-0', 6, 1000, 'standard');
  expect(rows.room('lane-0', 'standard')).toEqual({ running: true, freeRows: 2 });
  expect(rows.room('lane-0', 'interactive')).toEqual({ running: false, freeRows: 8 });
});

test('A bulk job finds no room while a job of another class runs, and makes no other group leave its lane', () => {
  const { rows } = laneRows();
  rows.take(sample(1), 'lane-1', 1, 100, 'standard');
  expect(rows.room(LANE, 'bulk')).toEqual({ running: true, freeRows: 0 });
  rows.release(sample(1));
  expect(rows.room(LANE, 'bulk')).toEqual({ running: false, freeRows: 8 });
});

test('A group that does not count as one of the lanes has room beside the most lanes', () => {
  const defaults = { firstCap: () => 8, usualRows: () => 1, isLimited: (lane: string) => lane !== 'ears' };
  const rows = new LaneRows(defaults, () => {});
  for (let n = 0; n < MAX_LANES; n += 1) rows.take(sample(n), `lane-${n}`, 1);
  expect(rows.room(LANE).freeRows).toBe(0);
  expect(rows.room('ears')).toEqual({ running: false, freeRows: 8, isUnlimited: true });
});

test('The use of a lane tells which of its samples pause, and the time that they take by class', () => {
  const { rows } = laneRows();
  rows.take(sample(1), LANE, 2, 900, 'bulk');
  rows.stepped(sample(1), 1 / 3);
  expect(rows.usage(LANE)).toMatchObject({ paused: 0, left_ms: { interactive: 0, standard: 0, bulk: 600 } });
  rows.take(sample(2), 'another', 2, 100, 'interactive');
  expect(rows.usage(LANE)).toMatchObject({ samples: 1, paused: 1 });
  expect(rows.usage('another')).toMatchObject({ paused: 0, left_ms: { interactive: 100 } });
});
