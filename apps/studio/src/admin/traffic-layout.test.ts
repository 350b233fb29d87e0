import type { Traffic } from '@lehr/client';
import { expect, test } from 'vitest';
import { paceOf, thicknessOf, trafficPicture } from './traffic-layout.ts';

const api = (id: string) => ({ id, requests_per_s: 10, refused_per_s: 1, errors_per_s: 0.5, mean_ms: 12 });
const model = (name: string) => ({
  model: name,
  waiting: 3,
  running: 1,
  oldest_ms: 900,
  share: null,
  accepted_per_s: 2,
  refused_per_s: 0,
});
const worker = (id: string, ...models: string[]) => ({
  id,
  state: 'serving' as const,
  models: models.map((name) => ({
    model: name,
    claimed_per_s: 1,
    wait_ms: 250,
    ended_per_s: 1,
    failed_per_s: 0,
  })),
  stored_per_s: 1,
  store_ms: 4,
});
const TRAFFIC: Traffic = {
  object: 'traffic',
  at: '2026-11-23T10:00:00.000Z',
  window_s: 10,
  apis: [api('a'), api('b')],
  models: [model('tiny@1'), model('tiny@2'), model('ears@1')],
  workers: [worker('w1', 'tiny@1', 'tiny@2'), worker('w2', 'tiny@1', 'unknown@1')],
  more_workers: 0,
  receivers: { pending: 1, attempts_per_s: 0, failed_per_s: 0, mean_ms: null },
};

test('Every node has a line to those that it feeds, and only to them', () => {
  const { edges } = trafficPicture(TRAFFIC);
  expect(edges.map(({ from, to }) => `${from} > ${to}`)).toEqual([
    'callers > api a',
    'callers > api b',
    'api a > model tiny@1',
    'api a > model tiny@2',
    'api a > model ears@1',
    'model tiny@1 > worker w1',
    'model tiny@2 > worker w1',
    'model tiny@1 > worker w2',
    'worker w1 > store',
    'worker w2 > store',
    'api b > receivers',
  ]);
  expect(edges[0]).toMatchObject({ rate: 10, bad: 1.5, ms: 12 });
});

test('No node stands on another one or outside of the picture', () => {
  const { nodes, width, height } = trafficPicture(TRAFFIC);
  for (const a of nodes) {
    expect(a.x >= 0 && a.y >= 0 && a.x + a.width <= width && a.y + a.height <= height, a.id).toBe(true);
    const others = nodes.filter((b) => b !== a && b.x < a.x + a.width && a.x < b.x + b.width);
    for (const b of others)
      expect(b.y >= a.y + a.height || a.y >= b.y + b.height, `${a.id} ${b.id}`).toBe(true);
  }
});

test('Without processes and workers the picture has callers, models, store and receivers, and no lines', () => {
  const { nodes, edges } = trafficPicture({ ...TRAFFIC, apis: [], workers: [] });
  expect([nodes.length, edges.length]).toEqual([6, 0]);
});

test('A line grows with its rate and moves only when there is traffic', () => {
  expect([null, 0, 1, 100].map(thicknessOf)).toEqual([1.25, 1.25, 3.6, 12]);
  expect([null, 0, 0.2, 5, 50].map(paceOf)).toEqual(['still', 'still', 'slow', 'quick', 'fast']);
});
