/** Pauses of models in a real Redis: which group queues stop, and when they go on. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  formatModelRef,
  groupQueueName,
  type Pause,
  parseGroupQueueName,
} from '../../packages/shared/src/index.ts';
import { isPausedBy, pauseOf, readPauses, SET_PAUSE_LUA } from '../../packages/shared/src/queue/index.ts';
import { defineScript } from '../../packages/shared/src/redis/index.ts';
import { bullQueue, GROUP, queueWorld } from '../support/queue-world.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const OTHER = { queue: 'whisper.ears@1', model: 'ears@1' };

const pauseOfModel = (model: string, changes: Partial<Pause> = {}): Pause => ({
  object: 'pause',
  model,
  tenant: null,
  submissions: 'accepted',
  now: false,
  reason: null,
  at: '2026-11-29T00:00:00.000Z',
  by: 'root',
  ...changes,
});

async function pauseWorld() {
  const world = await queueWorld(server.url);
  const { redis, keys } = world;
  const script = defineScript(
    redis,
    'setPause',
    `${SET_PAUSE_LUA}\nreturn set_pause(ARGV[1], ARGV[2], ARGV[3])`,
  );
  const set = (model: string, pause = JSON.stringify(pauseOfModel(model))) =>
    script.run([], [keys.prefix, model, pause]);
  const resume = (model: string) => set(model, '');
  const found = async () =>
    (await world.claimer.findWork(['tiny@1', 'ears@1'])).map(({ queue }) => queue).sort();
  return { ...world, set, resume, found };
}

test.each(['*', 'tiny', 'tiny@1'])(
  'While %s is paused no job of the model is claimed, also none of a group that it gets later, and then they run',
  async (target) => {
    const world = await pauseWorld();
    await world.submit();
    await world.submit(OTHER);
    await world.set(target);
    const later = 'diffusion.tiny@1.128x64';
    await world.submit({ queue: later });
    expect(await world.found()).toEqual(target === '*' ? [] : [OTHER.queue]);
    expect(await world.claim(GROUP, 1)).toEqual([]);
    expect(await world.claim(later, 1)).toEqual([]);
    expect(await bullQueue(world, later).isPaused()).toBe(true);
    const woken = world.claimer.wait([later]);
    await world.resume(target);
    expect(await woken).toBe(later);
    expect(await world.found()).toEqual([later, GROUP, OTHER.queue].sort());
    expect(await world.claim(GROUP, 1)).toHaveLength(1);
    expect(await readPauses(world.redis, world.keys)).toEqual([]);
  },
);

test('A group that is under two pauses goes on when both have ended, and one that has no jobs wakes nobody', async () => {
  const world = await pauseWorld();
  await world.submit();
  await world.set('tiny');
  await world.set('tiny@1');
  await world.resume('tiny');
  expect(await world.found()).toEqual([]);
  expect(await world.resume('tiny')).toBe(0);
  await world.resume('tiny@1');
  expect(await world.found()).toEqual([GROUP]);
  await world.claim(GROUP, 1);
  await world.set('*');
  await world.resume('*');
  expect(await world.redis.exists(world.queues.of(GROUP).marker)).toBe(0);
});

test('A job that is handed back to a paused group stays there', async () => {
  const world = await pauseWorld();
  await world.submit();
  const [claim] = await world.claim(GROUP, 1);
  await world.set('tiny');
  await world.queues.of(GROUP).handBack(claim, 1);
  expect(await world.claim(GROUP, 1)).toEqual([]);
  await world.resume('tiny');
  expect(await world.claim(GROUP, 1)).toMatchObject([{ jobId: claim.jobId }]);
});

test('A pause reaches exactly the group queues of its model, whatever the names are', async () => {
  const models = ['sd', 'sd.2', 'sd-2', 'sd.1x1', '1'].flatMap((name) =>
    ['1', '1.5', '2.64x64', '1-fp16'].map((version) => ({ name, version })),
  );
  const size = { width: 512, height: 768 };
  const aligned = { steps: 20, sampler: 'dpmpp_2m', guidance: 7.5 };
  const queues = models.flatMap((model) => [
    groupQueueName({ task: 'diffusion', model, ...size }),
    groupQueueName({ task: 'diffusion', model, ...size, aligned }),
    groupQueueName({ task: 'whisper', model }),
  ]);
  const world = await pauseWorld();
  await world.redis.sadd(world.keys.groups, ...queues, 'webhooks');
  for (const target of ['sd', 'sd@1', 'sd.2@1.5', '1@2.64x64', 'sd.1x1@2.64x64']) {
    await world.set(target);
    const paused = [];
    for (const queue of queues) if (await bullQueue(world, queue).isPaused()) paused.push(queue);
    const refOf = (queue: string) =>
      formatModelRef(parseGroupQueueName(queue)?.model ?? { name: '', version: '' });
    expect(paused, target).toEqual(queues.filter((queue) => isPausedBy(target, refOf(queue))));
    expect(paused.length, target).toBeGreaterThan(0);
    await world.resume(target);
  }
});

test('Of several pauses of a model, the one that refuses new jobs counts', () => {
  const refusing = pauseOfModel('sd@2', { submissions: 'refused' });
  const pauses = [pauseOfModel('*'), refusing];
  expect(pauseOf(pauses, 'sd@2')).toBe(refusing);
  expect(pauseOf(pauses, 'sd@1')?.model).toBe('*');
  expect(pauseOf([refusing], 'sd@1')).toBeUndefined();
});
