import type { PriorityClass, WorkerStatus } from '@lehr/shared';
import { expect, test } from 'vitest';
import { ALL_FIRST, aheadOf } from './backlog.ts';

const worker = (...models: string[]): WorkerStatus => ({
  id: 'w' as WorkerStatus['id'],
  started_at: 0,
  tasks: ['diffusion'],
  draining: false,
  models: models.map((ref) => ({ ref, batching: 'step', providers: {} })),
  unavailable: [],
  jobs: 0,
  lanes: [],
});
const waiting = (load: Partial<Record<PriorityClass, number>>): Record<PriorityClass, number> => ({
  interactive: 0,
  standard: 0,
  bulk: 0,
  ...load,
});

const GROUP = 'diffusion.a@1.64x64';
const ask = (fleet: WorkerStatus[], loads: [string, Record<PriorityClass, number>][]) =>
  aheadOf(GROUP, 'a@1', 'standard', fleet, new Map(loads));

test('Jobs that wait in the group itself are not counted, because Redis has their exact sum', () => {
  expect(ask([worker('a@1')], [[GROUP, waiting({ standard: 5000 })]])).toEqual({
    workers: 1,
    elsewhereMs: 0,
    elsewhereGroups: 0,
  });
});

test('Another size of the model counts fully, in the same class and the more urgent ones', () => {
  const load = waiting({ interactive: 1000, standard: 2000, bulk: 4000 });
  expect(ask([worker('a@1'), worker('a@1')], [['diffusion.a@1.512x512', load]])).toEqual({
    workers: 2,
    elsewhereMs: 3000,
    elsewhereGroups: 1,
  });
});

test('Another model counts by the share of its workers that also serve the group', () => {
  const fleet = [worker('a@1'), worker('a@1', 'b@1'), worker('b@1')];
  expect(ask(fleet, [['diffusion.b@1.64x64', waiting({ standard: 1000 })]])).toEqual({
    workers: 2,
    elsewhereMs: 500,
    elsewhereGroups: 1,
  });
});

test('Groups that share no live worker with the group do not count', () => {
  const load = waiting({ standard: 1000 });
  expect(ask([worker('a@1'), worker('b@1')], [['diffusion.b@1.64x64', load]]).elsewhereMs).toBe(0);
  expect(ask([], [['diffusion.b@1.64x64', load]])).toEqual({
    workers: 0,
    elsewhereMs: 0,
    elsewhereGroups: 0,
  });
  expect(ask([{ ...worker('a@1'), draining: true }], [['diffusion.a@1.96x64', load]])).toEqual({
    workers: 0,
    elsewhereMs: 0,
    elsewhereGroups: 0,
  });
});

const lane = (
  queue: string,
  left: Partial<Record<PriorityClass, number>>,
): WorkerStatus['lanes'][number] => ({
  queue,
  rows: 2,
  row_cap: 8,
  samples: 1,
  paused: 0,
  row_steps_per_s: 1,
  left_ms: waiting(left),
});
const busy = (...lanes: WorkerStatus['lanes']): WorkerStatus => ({ ...worker('a@1', 'b@1'), lanes });

test('What runs in the lanes of the workers counts in the same class and the more urgent ones, also in the lane of the group', () => {
  const running = busy(
    lane(GROUP, { standard: 1000 }),
    lane('diffusion.b@1.64x64', { interactive: 300, bulk: 25_000 }),
  );
  expect(ask([running], [])).toEqual({ workers: 1, elsewhereMs: 1300, elsewhereGroups: 2 });
});

test('A job whose group gets no lane, or finds its lane full, runs after all that runs', () => {
  const others = [65, 66, 67, 68].map((side) => lane(`diffusion.b@1.${side}x64`, { standard: 25_000 }));
  expect(ask([busy(...others)], []).elsewhereGroups).toBe(ALL_FIRST);
  expect(ask([busy(...others.slice(1))], []).elsewhereGroups).toBe(3);
  expect(ask([busy({ ...lane(GROUP, { standard: 9 }), rows: 8 })], []).elsewhereGroups).toBe(ALL_FIRST);
  const bulk = aheadOf(GROUP, 'a@1', 'bulk', [busy(others[0])], new Map());
  expect(bulk).toEqual({ workers: 1, elsewhereMs: 25_000, elsewhereGroups: ALL_FIRST });
});

test('Four bulk lanes do not delay a more urgent job, which gets a lane beside them', () => {
  const others = [65, 66, 67, 68].map((side) => lane(`diffusion.b@1.${side}x64`, { bulk: 25_000 }));
  expect(ask([busy(...others)], [])).toEqual({ workers: 1, elsewhereMs: 0, elsewhereGroups: 0 });
});
