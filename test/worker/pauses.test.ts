/** What a worker that runs does when an operator pauses a model. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { DEFAULT_TENANT, type JobId, type Pause, tenantTarget } from '../../packages/shared/src/index.ts';
import { Releaser, SET_PAUSE_LUA, WorkflowRunner } from '../../packages/shared/src/queue/index.ts';
import { defineScript } from '../../packages/shared/src/redis/index.ts';
import { bullQueue } from '../support/queue-world.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { type WorkerWorld, workerWorld } from '../support/worker-world.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const WAIT = { timeout: 30_000, interval: 20 };
/** Steps of 50 ms, so that a picture is under way when its model is paused. */
const SLOW = {
  checkpoints: { everySteps: 5, everyMs: 3_600_000, bytesPerS: 1e9 },
  latency: { stepBaseMs: 50, stepPerRowMs: 0, pictureMs: 5, textMs: 1 },
};

const FACTS = {
  object: 'pause',
  tenant: null,
  submissions: 'accepted',
  reason: null,
  at: new Date(0).toISOString(),
  by: 'root',
} as const;

function pausing({ redis, keys }: WorkerWorld) {
  const script = defineScript(
    redis,
    'setPause',
    `${SET_PAUSE_LUA}\nreturn set_pause(ARGV[1], ARGV[2], ARGV[3])`,
  );
  return {
    pause: (model: string, now: boolean) =>
      script.run([], [keys.prefix, model, JSON.stringify({ ...FACTS, model, now } satisfies Pause)]),
    resume: (model: string) => script.run([], [keys.prefix, model, '']),
    pauseTenant: () =>
      script.run(
        [],
        [
          keys.prefix,
          tenantTarget(DEFAULT_TENANT),
          JSON.stringify({ ...FACTS, model: null, tenant: DEFAULT_TENANT, now: true } satisfies Pause),
        ],
      ),
  };
}

const hasCheckpoint = (world: WorkerWorld, job: JobId) =>
  vi.waitFor(async () => expect(await world.redis.exists(world.keys.checkpoints(job))).toBe(1), WAIT);

test('A pause lets the running picture end and the next one wait, also of a size that is new; then both run', async () => {
  const world = await workerWorld(server.url);
  const { pause, resume } = pausing(world);
  await world.simulated(SLOW);
  const first = await world.draw({ steps: 12 });
  await world.reached(first, 'running');
  await pause('*', false);
  const waiting = [await world.draw({ seed: 2 }), await world.draw({ width: 128, height: 128 })];
  expect(await world.reached(first)).toMatchObject({ state: 'succeeded', attempt: 1 });
  for (const id of waiting)
    expect(await world.records.read(id)).toMatchObject({ state: 'queued', attempt: 0 });
  await resume('*');
  for (const id of waiting) expect(await world.reached(id)).toMatchObject({ state: 'succeeded' });
});

test('A pause that takes effect now hands the running picture back, and it continues at its step when the pause is over', async () => {
  const world = await workerWorld(server.url);
  const { pause, resume } = pausing(world);
  const worker = await world.simulated(SLOW);
  const job = await world.draw({ steps: 60 });
  await hasCheckpoint(world, job);
  await pause('other', true);
  expect(await world.records.read(job)).toMatchObject({ state: 'running' });
  await pause('*', true);
  expect(await world.reached(job, 'queued')).toMatchObject({ attempt: 0 });
  await resume('*');
  expect(await world.reached(job)).toMatchObject({ state: 'succeeded', attempt: 1 });
  const resumed = await worker.line(({ msg }) => msg === 'picture resumed');
  expect(resumed.step).toBeGreaterThanOrEqual(5);
});

test('A worker that did not hear of a pause, because its connection was lost, hands its job back when it is there again', async () => {
  const world = await workerWorld(server.url);
  const { redis, keys } = world;
  await world.simulated(SLOW);
  const job = await world.draw({ steps: 200 });
  const { queue } = await world.reached(job, 'running');
  // As `set_pause` leaves it, without its message.
  await bullQueue(world, queue).pause();
  await redis.hset(keys.pauses, '*', JSON.stringify({ ...FACTS, model: '*', now: true } satisfies Pause));
  await redis.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
  expect(await world.reached(job, 'queued')).toMatchObject({ attempt: 0 });
});

test('The pause of a tenant hands its running picture back and parks it; released, it continues at its step', async () => {
  const world = await workerWorld(server.url);
  const { redis, keys } = world;
  const { pauseTenant, resume } = pausing(world);
  const worker = await world.simulated(SLOW);
  const job = await world.draw({ steps: 60 });
  await hasCheckpoint(world, job);
  await pauseTenant();
  await vi.waitFor(
    async () => expect(await redis.hget(keys.record(job), 'parked')).toBe(DEFAULT_TENANT),
    WAIT,
  );
  expect(await world.records.read(job)).toMatchObject({ state: 'queued', attempt: 0 });
  await resume(tenantTarget(DEFAULT_TENANT));
  await new Releaser({ ...world, workflows: new WorkflowRunner(world) }).release([job]);
  expect(await world.reached(job)).toMatchObject({ state: 'succeeded', attempt: 1 });
  const resumed = await worker.line(({ msg }) => msg === 'picture resumed');
  expect(resumed.step).toBeGreaterThanOrEqual(5);
});
