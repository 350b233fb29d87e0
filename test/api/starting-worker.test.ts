/** What the API says of jobs that no worker serves yet, while one starts. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  endStarting,
  newWorkerId,
  type QueueList,
  reportStarting,
  systemClock,
} from '../../packages/shared/src/index.ts';
import { type ApiWorld, apiWorld, jobOf, problemOf } from '../support/api-world.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

/** A world whose clock the test advances, in ms: what the process has read before is too old then. */
async function worldWithClock(changes = {}): Promise<{ world: ApiWorld; pass(ms: number): void }> {
  let passedMs = 0;
  const clock = {
    ...systemClock,
    now: () => Date.now() + passedMs,
    monotonic: () => performance.now() + passedMs,
  };
  const pass = (ms: number): void => {
    passedMs += ms;
  };
  return { world: await apiWorld(server.url, { clock, ...changes }), pass };
}

test('Without anything that starts workers, a job that waits for one has no time', async () => {
  const { world } = await worldWithClock();
  const { queue } = await world.post();
  expect(queue).toEqual({ position: 1, eta_ms: null });
});

test('A job that waits for a starting worker says when that worker serves, by the last start that was measured', async () => {
  const { world, pass } = await worldWithClock();
  const { redis, keys } = world.parts;
  const earlier = { id: newWorkerId('host'), since: 0, models: ['tiny@1'] };
  await endStarting(redis, keys, earlier, { at: 1, total_ms: 40_000, stages_ms: {} });
  const { id } = await world.post();
  await reportStarting(redis, keys, { id: newWorkerId('host'), since: Date.now(), models: ['tiny@1'] });
  pass(10_000);
  const { queue } = await world.get(id);
  expect(queue?.worker_in_ms).toBeGreaterThan(20_000);
  expect(queue?.worker_in_ms).toBeLessThanOrEqual(30_000);
  expect(queue?.eta_ms).toBeGreaterThan(queue?.worker_in_ms ?? 0);
  await world.worker.report();
  pass(5_000);
  const served = (await world.get(id)).queue;
  expect(served).not.toHaveProperty('worker_in_ms');
  expect(served?.eta_ms).toBeGreaterThan(0);
});

test('The first job of an idle pool says when a worker serves, once what starts workers has asked', async () => {
  const { world, pass } = await worldWithClock();
  expect((await world.ask('GET', '/v1/scale/all')).status).toBe(200);
  const { id, queue } = await world.post();
  // Not measured yet: as configured.
  expect(queue).toMatchObject({ position: 1, worker_in_ms: 30_000 });
  pass(4_000);
  await world.ask('GET', '/v1/scale/all');
  pass(12_000);
  const later = (await world.get(id)).queue;
  expect(later?.worker_in_ms).toBeGreaterThan(15_000);
  expect(later?.worker_in_ms).toBeLessThanOrEqual(18_500);
  // It has asked for long not any more.
  pass(300_000);
  expect((await world.get(id)).queue).toEqual({ position: 1, eta_ms: null });
});

test('A job is admitted by what the grown fleet can do, and refused when its deadline ends before a worker serves', async () => {
  // One worker could start 1 s of work in time.
  const { world, pass } = await worldWithClock({ maxWaitMs: 31_000 });
  const slow = { queue: 'diffusion.tiny@1.64x64', rows: 0, row_cap: 8, samples: 0, row_steps_per_s: 1 };
  await world.worker.report({ draining: true, lanes: [slow] });
  const ask = (fields = {}) =>
    world.ask('POST', '/v1/jobs', { type: 'text-to-image', input: { prompt: 'a', steps: 1 }, ...fields });
  expect((await world.ask('GET', '/v1/scale/all')).status).toBe(200);
  // Each costs 2 s: 4 workers begin two of them within the second that is left after the start.
  const statuses: number[] = [];
  for (let i = 0; i < 6; i += 1) statuses.push((await ask({ metadata: { i: `${i}` } })).status);
  expect(statuses).toEqual([202, 202, 202, 503, 503, 503]);
  const late = await ask({ deadline_s: 20 });
  expect([late.status, (await problemOf(late)).detail]).toEqual([
    503,
    'This job would wait about 32 s before it starts. No worker serves tiny@1 now; one starts and should serve in about 30 s.',
  ]);
  pass(300_000);
  // Nothing starts workers any more: as before, jobs wait for one worker, whenever it comes.
  const one = await ask({ deadline_s: 20 });
  expect(one.status).toBe(202);
  await jobOf(one);
});

test('A job for a model that a running worker can load says when it will be loaded, and the worker counts for its pool', async () => {
  const { world, pass } = await worldWithClock();
  const model = { ref: 'tiny@1', state: 'known' as const, bytes: 4e9, load_ms: 12_000 };
  await world.worker.report({ models: [], residency: { budget_bytes: 8e9, models: [model] } });
  const { queue } = await world.post();
  expect(queue).toMatchObject({ position: 1, worker_in_ms: 12_000 });
  const listed = (await (await world.ask('GET', '/v1/queues')).json()) as QueueList;
  expect(listed.models).toContainEqual(
    expect.objectContaining({ model: 'tiny@1', workers: 0, can_load: 1, problem: null }),
  );
  expect(await (await world.ask('GET', '/v1/scale/all')).json()).toMatchObject({ workers: { live: 1 } });
  await world.worker.report({ residency: { budget_bytes: 8e9, models: [{ ...model, state: 'loaded' }] } });
  pass(5_000);
  expect((await world.post()).queue).not.toHaveProperty('worker_in_ms');
});
