import type { Activity } from '@lehr/client';
import { expect, test } from 'vitest';
import { advance, type Belt, HISTORY } from './belt-state.ts';

const QUEUE = { queue: 'diffusion.a@1.64x64', task: 'diffusion', model: 'a@1', size: null } as const;

/** A reading of one lane with samples `id: step`, each of 20 steps. */
function reading(samples: Record<string, number>, rows = 2): Activity {
  const lane = {
    ...QUEUE,
    worker: 'w',
    rows,
    row_cap: 8,
    samples: Object.entries(samples).map(([id, step]) => ({ id, step, steps: 20, job: null })),
    more_samples: 0,
    rows_per_call: rows,
    calls_per_s: 1,
  };
  const waiting = { ms: 0, own_ms: 0, queues: [], more_queues: 0 };
  return { object: 'activity', at: '', workers: [], lanes: [lane], waiting };
}

const tilesOf = ([{ lanes }]: readonly Belt[]) =>
  Object.fromEntries(lanes[0].tiles.map((tile) => [tile.id, tile]));

test('A sample keeps its track, and the next one takes the track that became free', () => {
  let belts = advance([], reading({ a: 1, b: 1, c: 1 }));
  belts = advance(belts, reading({ a: 9, c: 9, d: 1 }));
  const { a, b, c, d } = tilesOf(belts);
  expect([a.track, c.track, d.track]).toEqual([0, 2, 1]);
  expect([a.state, b.state, d.state]).toEqual(['riding', 'done', 'riding']);
  expect(a.pace).toBe(8);
});

test('A sample that leaves near its end rides to the end; one that leaves far before it does not', () => {
  let belts = advance([], reading({ near: 10, far: 1 }));
  belts = advance(belts, reading({ near: 16, far: 2 }));
  belts = advance(belts, reading({}));
  expect(tilesOf(belts)).toMatchObject({
    near: { state: 'done', step: 20 },
    far: { state: 'gone', step: 2 },
  });
  expect(tilesOf(advance(belts, reading({})))).toEqual({});
});

test('A queue that waits without a lane has a separate belt', () => {
  const other = {
    ...QUEUE,
    queue: 'diffusion.a@1.96x96',
    paused: false,
    jobs: { interactive: 0, standard: 1, bulk: 0 },
    next: [],
  };
  const now = reading({ a: 1 });
  const belts = advance([], { ...now, waiting: { ...now.waiting, queues: [other] } });
  expect(belts.map(({ queue, lanes, waiting }) => [queue, lanes.length, waiting?.jobs.standard])).toEqual([
    [QUEUE.queue, 1, undefined],
    [other.queue, 0, 1],
  ]);
});

test('The history of rows per call is bounded', () => {
  let belts: Belt[] = [];
  for (let i = 0; i < HISTORY + 20; i += 1) belts = advance(belts, reading({ a: 1 }, i));
  const [{ lanes }] = belts;
  expect(lanes[0].history).toHaveLength(HISTORY);
  expect(lanes[0].history.at(-1)).toBe(HISTORY + 19);
});
