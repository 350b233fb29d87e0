/** What Lehr is doing now, as its tenants see it. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type Activity,
  ActivitySchema,
  newWorkerId,
  reportRunning,
  type TenantId,
  type WorkerStatus,
} from '../../packages/shared/src/index.ts';
import { type ApiWorld, apiWorld, jobOf } from '../support/api-world.ts';
import { type KeyHolder, keyHolder } from '../support/key-holder.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const QUEUE = 'diffusion.tiny@1.64x64';
const LANE = { queue: QUEUE, rows: 4, row_cap: 8, samples: 2, row_steps_per_s: 50 };
const CALLS = { queue: QUEUE, rows_per_call: 3.5, calls_per_s: 12 };
const SECRET = 'a secret red circle';

const post = async (who: KeyHolder, priority = 'standard'): Promise<string> =>
  (
    await jobOf(
      await who.ask('POST', '/v1/jobs', { type: 'text-to-image', input: { prompt: SECRET }, priority }),
    )
  ).id;

const activityOf = async (ask: ApiWorld['ask']): Promise<Activity> =>
  ActivitySchema.strict().parse(await (await ask('GET', '/v1/activity')).json());

async function runningWorld(status: Partial<WorkerStatus> = {}) {
  const world = await apiWorld(server.url);
  const [ada, bob] = [await keyHolder(world, 'ada'), await keyHolder(world, 'bob')];
  const jobs = { ada: await post(ada), bob: await post(bob) };
  await world.worker.take();
  await world.worker.take();
  await world.worker.report({ lanes: [LANE], ...status });
  const sample = (tenant: 'ada' | 'bob', step: number) => ({
    id: `of-a-sample-${step}`,
    queue: QUEUE,
    job: jobs[tenant],
    tenant: tenant as TenantId,
    step,
    steps: 20,
  });
  await reportRunning(world.parts.redis, world.parts.keys, world.worker.id, {
    samples: [sample('ada', 3), sample('bob', 17)],
    calls: [CALLS],
    counts: {},
  });
  return { world, ada, bob, jobs };
}

test('A tenant sees its own running samples with their jobs, and those of others without', async () => {
  const { ada, bob, jobs } = await runningWorld();
  const { lanes } = await activityOf(ada.ask);
  expect(lanes).toMatchObject([
    {
      queue: QUEUE,
      task: 'diffusion',
      model: 'tiny@1',
      size: { width: 64, height: 64 },
      rows: 4,
      row_cap: 8,
      more_samples: 0,
      rows_per_call: 3.5,
      calls_per_s: 12,
    },
  ]);
  expect(lanes[0].samples).toEqual([
    { id: 'of-a-sample-3', step: 3, steps: 20, job: jobs.ada },
    { id: 'of-a-sample-17', step: 17, steps: 20, job: null },
  ]);
  const [{ samples }] = (await activityOf(bob.ask)).lanes;
  expect(samples.map(({ job }) => job)).toEqual([null, jobs.bob]);
});

test('Nothing in the answer names the jobs, tenants or prompts of others, also for an administrator', async () => {
  const { world, ada, bob, jobs } = await runningWorld();
  const waiting = await post(bob);
  const admin = await keyHolder(world, 'carl', { scopes: ['read', 'admin'] });
  for (const { ask } of [ada, admin]) {
    const text = await (await ask('GET', '/v1/activity')).text();
    for (const secret of [jobs.bob, waiting, 'bob', SECRET]) expect(text).not.toContain(secret);
  }
});

test('The waiting line has its jobs by class, in the order in which they are claimed, and marks the own ones', async () => {
  const world = await apiWorld(server.url);
  const [ada, bob] = [await keyHolder(world, 'ada'), await keyHolder(world, 'bob')];
  await world.worker.report();
  await post(ada, 'bulk');
  await post(bob);
  await post(bob, 'interactive');
  const { waiting } = await activityOf(ada.ask);
  expect(waiting.queues).toMatchObject([
    {
      queue: QUEUE,
      model: 'tiny@1',
      jobs: { interactive: 1, standard: 1, bulk: 1 },
      next: [
        { priority: 'interactive', own: false },
        { priority: 'standard', own: false },
        { priority: 'bulk', own: true },
      ],
    },
  ]);
  expect(waiting.own_ms).toBeGreaterThan(0);
  expect(waiting.own_ms / waiting.ms).toBeCloseTo(1 / 3);
  const other = (await activityOf(bob.ask)).waiting;
  expect(other.own_ms / other.ms).toBeCloseTo(2 / 3);
});

test('A worker that has not reported its samples, and one whose samples cannot be read, are shown with the counts of their lanes', async () => {
  const { world, ada } = await runningWorld();
  const silent = newWorkerId('silent');
  const damaged = newWorkerId('damaged');
  for (const id of [silent, damaged]) await world.worker.report({ id, lanes: [LANE] });
  await world.parts.redis.set(world.parts.keys.runningOn(damaged), '{"v":9,"samples":"many"}');
  const { lanes, workers } = await activityOf(ada.ask);
  expect(workers).toHaveLength(3);
  expect(lanes.map(({ samples, more_samples }) => [samples.length, more_samples])).toEqual(
    expect.arrayContaining([
      [2, 0],
      [0, 2],
      [0, 2],
    ]),
  );
});

test('Workers show their state and their last error; only an administrator sees names of hosts and files', async () => {
  const at = Date.parse('2026-11-01T10:00:00Z');
  const { world, ada } = await runningWorld({
    id: newWorkerId('render-7'),
    audio_problem: '/usr/bin/ffmpeg is missing',
    last_error: { at, message: 'The engine died (SIGKILL).' },
  });
  const [worker] = (await activityOf(ada.ask)).workers;
  expect(worker).toMatchObject({
    state: 'serving',
    devices: ['cpu'],
    models: ['tiny@1'],
    problem: 'This worker cannot decode audio.',
    last_error: { at: '2026-11-01T10:00:00.000Z', message: 'The engine died (SIGKILL).' },
  });
  expect(worker.id).toMatch(/^worker-/);
  const [known] = (await activityOf(world.ask)).workers;
  expect(known).toMatchObject({
    id: expect.stringMatching(/^render-7-/),
    problem: '/usr/bin/ffmpeg is missing',
  });
});

test('One reading serves all callers of a process for a second', async () => {
  const { world, ada, bob } = await runningWorld();
  let readings = 0;
  const { redis } = world.parts;
  const set = redis.set.bind(redis) as (...args: unknown[]) => Promise<unknown>;
  Object.assign(redis, {
    set: (key: string, ...args: unknown[]) => {
      if (key === world.parts.keys.runningWatched) readings += 1;
      return set(key, ...args);
    },
  });
  const answers = await Promise.all([ada, ada, bob, bob, ada].map(({ ask }) => activityOf(ask)));
  expect(readings).toBe(1);
  expect(new Set(answers.map(({ at }) => at)).size).toBe(1);
});
