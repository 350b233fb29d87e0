import { afterAll, beforeAll, expect, test } from 'vitest';
import { END_EVENTS, type JobId } from '../../packages/shared/src/index.ts';
import { apiWorld } from '../support/api-world.ts';
import { jobChanges } from '../support/job-changes.ts';
import { Random } from '../support/random.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { workerWorld } from '../support/worker-world.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const CANCELS = 1000;
/** Jobs that are active at once: twice as many as the worker takes, so that some are cancelled while they wait. */
const ACTORS = 32;
/** Changes of all jobs during the life of one: the job of each actor is stored, started and ended once. */
const LIFE = 3 * ACTORS;
const SEED = 24;
const job = {
  type: 'text-to-image',
  input: { prompt: 'a circle', steps: 4, guidance: 1, sampler: 'ddim' },
  webhook: { url: 'https://app.example/hook' },
};

const isEnd = (type: string): boolean => (END_EVENTS as readonly string[]).includes(type);

test('After a thousand cancels at random moments each job has exactly one end, reported once, and nothing is left in Redis', {
  tags: ['long'],
}, async () => {
  const workers = await workerWorld(server.url);
  const world = await apiWorld(server.url, { keys: workers.keys });
  const { redis, keys, records, queues } = world.parts;
  await workers.simulated({ latency: { stepBaseMs: 2, stepPerRowMs: 0.2, pictureMs: 1, textMs: 1 } });
  const { pass } = await jobChanges(server.url, world.parts);

  // A moment is a number of changes of any job after the request, so that cancels cover a job's whole life on any machine.
  const random = new Random(SEED);
  const statuses = new Map<JobId, number>();
  const actor = async (): Promise<void> => {
    while (statuses.size < CANCELS) {
      const { id } = (await (await world.ask('POST', '/v1/jobs', job)).json()) as { id: JobId };
      await pass(Math.floor(random.next() * LIFE), id);
      statuses.set(id, (await world.ask('POST', `/v1/jobs/${id}/cancel`)).status);
      await workers.reached(id);
    }
  };
  await Promise.all(Array.from({ length: ACTORS }, actor));

  const ids = [...statuses.keys()];
  const ends = new Map<string, number>();
  const reported = await redis.zrange(keys.outbox, '0', '-1');
  for (const id of ids) {
    const record = await records.read(id);
    const events = (await records.events(id, 0)).map(({ type }) => type);
    expect(events.filter(isEnd), id).toEqual([`job.${record?.state}`]);
    expect(events.at(-1), id).toBe(`job.${record?.state}`);
    expect(reported.filter((entry) => entry.startsWith(id))).toEqual([`${id} job.${record?.state}`]);
    expect((await world.ask('POST', `/v1/jobs/${id}/cancel`)).status).toBe(200);
    expect((await records.read(id))?.rev, `${id} changed after its end`).toBe(record?.rev);
    ends.set(record?.state ?? '', (ends.get(record?.state ?? '') ?? 0) + 1);
  }

  // Cancels came before the claim, during the run and after the end.
  expect([...ends.keys()].sort()).toEqual(['canceled', 'succeeded']);
  expect(Math.min(...ends.values())).toBeGreaterThan(CANCELS / 20);
  const accepted = [...statuses.values()].filter((status) => status === 202).length;
  expect(accepted).toBeGreaterThan(CANCELS / 20);
  expect(ids.length - accepted).toBeGreaterThan(CANCELS / 20);

  const queue = queues.of('diffusion.tiny@1.64x64');
  await expect.poll(() => redis.llen(queue.activeKey)).toBe(0);
  expect(await redis.zcard(queue.prioritizedKey)).toBe(0);
  expect(await redis.llen(queue.waitKey)).toBe(0);
  const tenant = 'default' as Parameters<typeof keys.liveOf>[0];
  expect(await redis.exists(keys.live, keys.liveOf(tenant), keys.runningOf(tenant), keys.reserved)).toBe(0);
  const load = Object.values(await redis.hgetall(keys.load(queue.name))).map(Number);
  expect(Math.max(...load)).toBeLessThan(0.001);
});

test('A cancel that is published while the connection of the worker for announcements is down stops the job', {
  tags: ['long'],
}, async () => {
  const world = await workerWorld(server.url);
  // As a job that makes no progress, whose cancel no write of progress finds.
  const times = { followCheckEveryMs: 600_000 };
  await world.simulated({ latency: { stepBaseMs: 100, stepPerRowMs: 1, pictureMs: 1, textMs: 1 }, times });
  const id = await world.draw({ steps: 999 });
  await world.reached(id, 'running');
  // In one write, and so before the worker connects again.
  const [killed, [{ code }]] = await Promise.all([
    world.redis.call('CLIENT', 'KILL', 'TYPE', 'pubsub'),
    world.records.apply([{ move: 'cancel', id }]),
  ]);
  expect(killed).toBeGreaterThan(0);
  expect(code).toBe('requested');
  expect((await world.reached(id)).state).toBe('canceled');
});
