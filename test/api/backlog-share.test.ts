/** One tenant cannot fill the whole wait that is accepted, so the others can still make jobs. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ApiWorld, apiWorld, jobOf, problemOf } from '../support/api-world.ts';
import { type KeyHolder, keyHolder } from '../support/key-holder.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

/** A job of 50 steps at 64x64 costs one engine second. */
const LANE = { queue: 'diffusion.tiny@1.64x64', rows: 0, row_cap: 8, samples: 0, row_steps_per_s: 100 };
const MAX_WAIT_MS = 10_000;

async function worldOfOneWorker(): Promise<ApiWorld> {
  const world = await apiWorld(server.url, { maxWaitMs: MAX_WAIT_MS });
  await world.worker.report({ lanes: [LANE] });
  return world;
}

const drawing = (priority: string, input: object = {}) => ({
  type: 'text-to-image',
  input: { prompt: 'a circle', steps: 50, ...input },
  priority,
});

/** Posts jobs until one is refused; returns how many were admitted, and the refusal. */
async function fill({ ask }: KeyHolder, body: (i: number) => object) {
  for (let admitted = 0; admitted < 100; admitted++) {
    const answer = await ask('POST', '/v1/jobs', body(admitted));
    if (answer.status !== 202) return { admitted, refused: answer };
  }
  throw new Error('A hundred jobs were admitted and none was refused.');
}

test('A tenant that posts interactive jobs until it is refused leaves room for standard jobs of others', async () => {
  const world = await worldOfOneWorker();
  const [greedy, polite] = [await keyHolder(world, 'greedy'), await keyHolder(world, 'polite')];
  const { admitted, refused } = await fill(greedy, () => drawing('interactive'));
  expect(admitted).toBe(5);
  expect(refused.status).toBe(429);
  expect((await problemOf(refused)).detail).toBe(
    'The waiting jobs of this tenant cost 5 engine seconds: it may fill 50 % of the longest wait (max_backlog_share).',
  );
  expect((await polite.ask('POST', '/v1/jobs', drawing('standard'))).status).toBe(202);
});

test('The share counts the jobs of all groups and classes of a tenant, and refuses its workflows too', async () => {
  const world = await worldOfOneWorker();
  const greedy = await keyHolder(world, 'greedy');
  const sizes = [16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96];
  const classes = ['interactive', 'standard', 'bulk'];
  const { refused } = await fill(greedy, (i) =>
    drawing(classes[i % 3], { width: sizes[i % sizes.length], height: 128 }),
  );
  expect((await problemOf(refused)).detail).toContain('(max_backlog_share)');
  // What is left is less than this workflow costs.
  for (let i = 0; i < 2; i++) {
    const nodes = [{ id: 'draw', type: 'text-to-image', input: drawing('bulk', { n: 4 }).input }];
    await greedy.ask('POST', '/v1/jobs', { type: 'workflow', nodes, priority: 'bulk' });
  }
  const { redis, keys } = world.parts;
  const waitingMs = Number(await redis.hget(keys.loadOf('greedy' as never), 'tiny@1'));
  expect(waitingMs).toBeLessThan(MAX_WAIT_MS);
  const polite = await keyHolder(world, 'polite');
  expect((await polite.ask('POST', '/v1/jobs', drawing('bulk'))).status).toBe(202);
});

test('A job counts while it waits: not after its start or cancel, and again when it is queued again', async () => {
  const world = await worldOfOneWorker();
  const { ask } = await keyHolder(world, 'acme');
  const { redis, keys, records } = world.parts;
  const waiting = () => redis.hgetall(keys.loadOf('acme' as never));
  const first = await jobOf(await ask('POST', '/v1/jobs', drawing('standard')));
  const second = await jobOf(await ask('POST', '/v1/jobs', drawing('standard')));
  expect(await waiting()).toEqual({ 'tiny@1': '2000' });
  await ask('POST', `/v1/jobs/${second.id}/cancel`);
  expect(await waiting()).toEqual({ 'tiny@1': '1000' });
  const claim = await world.worker.take();
  expect(claim.jobId).toBe(first.id);
  expect(await waiting()).toEqual({});
  await records.apply([{ move: 'requeue', id: claim.jobId, lease: claim.token }]);
  expect(await waiting()).toEqual({ 'tiny@1': '1000' });
});

test('A single job may cost more than the share, and without a share only the wait limits a tenant', async () => {
  const world = await worldOfOneWorker();
  const small = await keyHolder(world, 'small', { limits: { max_backlog_share: 0.01 } });
  expect((await small.ask('POST', '/v1/jobs', drawing('standard'))).status).toBe(202);
  expect((await small.ask('POST', '/v1/jobs', drawing('standard'))).status).toBe(429);
  const free = await keyHolder(world, 'free', { limits: { max_backlog_share: null } });
  const { refused } = await fill(free, () => drawing('standard'));
  expect(refused.status).toBe(503);
});

test('A load that an older process left behind does not refuse a tenant without waiting jobs', async () => {
  const world = await worldOfOneWorker();
  const { ask } = await keyHolder(world, 'acme');
  await world.parts.redis.hset(world.parts.keys.loadOf('acme' as never), 'tiny@1', 1_000_000);
  expect((await ask('POST', '/v1/jobs', drawing('standard'))).status).toBe(202);
  expect((await ask('POST', '/v1/jobs', drawing('standard'))).status).toBe(202);
});
