import { afterAll, beforeAll, expect, test } from 'vitest';
import { END_EVENTS, type JobId } from '../../packages/shared/src/index.ts';
import { apiWorld } from '../support/api-world.ts';
import { happenings } from '../support/happenings.ts';
import { Random } from '../support/random.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { workerWorld } from '../support/worker-world.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const CANCELS = 1000;
/** Jobs under way at once; twice what the worker takes, so that some are called off while they wait. */
const ACTORS = 32;
/** Changes of all jobs in the life of one: every actor's job is stored, started and ended in it. */
const LIFE = 3 * ACTORS;
const SEED = 24;
const job = {
  type: 'text-to-image',
  input: { prompt: 'a circle', steps: 4, guidance: 1, sampler: 'ddim' },
  webhook: { url: 'https://app.example/hook' },
};

const isEnd = (type: string): boolean => (END_EVENTS as readonly string[]).includes(type);

test('a thousand cancels at any moment of a job leave each with exactly one end, told once, and nothing behind', async () => {
  const workers = await workerWorld(server.url);
  const world = await apiWorld(server.url, { keys: workers.keys });
  const { redis, keys, records, queues } = world.parts;
  await workers.simulated({ latency: { stepBaseMs: 2, stepPerRowMs: 0.2, pictureMs: 1, textMs: 1 } });
  const { pass } = await happenings(server.url, world.parts);

  // A moment is a number of changes of any jobs after the request, so that they fall over all of a life on any machine.
  const random = new Random(SEED);
  const answers = new Map<JobId, number>();
  const actor = async (): Promise<void> => {
    while (answers.size < CANCELS) {
      const { id } = (await (await world.ask('POST', '/v1/jobs', job)).json()) as { id: JobId };
      await pass(Math.floor(random.next() * LIFE), id);
      answers.set(id, (await world.ask('POST', `/v1/jobs/${id}/cancel`)).status);
      await workers.reached(id);
    }
  };
  await Promise.all(Array.from({ length: ACTORS }, actor));

  const ids = [...answers.keys()];
  const ends = new Map<string, number>();
  const told = await redis.zrange(keys.outbox, '0', '-1');
  for (const id of ids) {
    const record = await records.read(id);
    const events = (await records.events(id, 0)).map(({ type }) => type);
    expect(events.filter(isEnd), id).toEqual([`job.${record?.state}`]);
    expect(events.at(-1), id).toBe(`job.${record?.state}`);
    expect(told.filter((entry) => entry.startsWith(id))).toEqual([`${id} job.${record?.state}`]);
    expect((await world.ask('POST', `/v1/jobs/${id}/cancel`)).status).toBe(200);
    expect((await records.read(id))?.rev, `${id} changed after its end`).toBe(record?.rev);
    ends.set(record?.state ?? '', (ends.get(record?.state ?? '') ?? 0) + 1);
  }

  // The moments were of every kind: before the claim, while it ran, and after the end.
  expect([...ends.keys()].sort()).toEqual(['canceled', 'succeeded']);
  expect(Math.min(...ends.values())).toBeGreaterThan(CANCELS / 20);
  const asked = [...answers.values()].filter((status) => status === 202).length;
  expect(asked).toBeGreaterThan(CANCELS / 20);
  expect(ids.length - asked).toBeGreaterThan(CANCELS / 20);

  const queue = queues.of('diffusion.tiny@1.64x64');
  await expect.poll(() => redis.llen(queue.activeKey)).toBe(0);
  expect(await redis.zcard(queue.prioritizedKey)).toBe(0);
  expect(await redis.llen(queue.waitKey)).toBe(0);
  const tenant = 'default' as Parameters<typeof keys.liveOf>[0];
  expect(await redis.exists(keys.live, keys.liveOf(tenant), keys.runningOf(tenant), keys.reserved)).toBe(0);
  const load = Object.values(await redis.hgetall(keys.load(queue.name))).map(Number);
  expect(Math.max(...load)).toBeLessThan(0.001);
}, 90_000);
