/** One tenant cannot fill the whole wait that is accepted, so the others can still make jobs. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Job } from '../../packages/shared/src/index.ts';
import { requeueLost, WORKFLOW_QUEUE } from '../../packages/shared/src/queue/index.ts';
import { redisNow } from '../../packages/shared/src/redis/index.ts';
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

test('A load that is left over in Redis does not refuse a tenant without waiting jobs', async () => {
  const world = await worldOfOneWorker();
  const { ask } = await keyHolder(world, 'acme');
  await world.parts.redis.hset(world.parts.keys.loadOf('acme' as never), 'tiny@1', 1_000_000);
  expect((await ask('POST', '/v1/jobs', drawing('standard'))).status).toBe(202);
  expect((await ask('POST', '/v1/jobs', drawing('standard'))).status).toBe(202);
});

/** Four pictures of one second each; the last three begin at the first one. Two of them then wait for the others. */
const picturesOfOne = (priority = 'standard') => ({
  type: 'workflow',
  priority,
  nodes: ['first', 'left', 'middle', 'right'].map((id) => ({
    id,
    type: 'text-to-image',
    input: {
      prompt: id,
      steps: 50,
      ...(id !== 'first' && { image: '{{first.image}}', strength: 1 }),
    },
  })),
});

/** What is kept of unfinished workflows for their nodes, and of the limits of their tenant. */
async function heldBy({ parts: { redis, keys } }: ApiWorld, tenant: string) {
  const [load, planned, live] = await Promise.all([
    redis.hgetall(keys.loadOf(tenant as never)),
    redis.hgetall(`${keys.prefix}:planned-of:${tenant}`),
    redis.zcard(keys.liveOf(tenant as never)),
  ]);
  return { load, planned, live };
}
const NOTHING = { load: {}, planned: {}, live: 0 };
const PLANNED = { load: { 'tiny@1': '1000' }, planned: { 'standard tiny@1': '3000', nodes: '3' }, live: 2 };

test('A workflow fills the share of its tenant by all its nodes, also those that cannot start yet', async () => {
  const world = await worldOfOneWorker();
  const greedy = await keyHolder(world, 'greedy');
  const { id } = await jobOf(await greedy.ask('POST', '/v1/jobs', picturesOfOne()));
  expect(await heldBy(world, 'greedy')).toEqual(PLANNED);
  const refused = await greedy.ask('POST', '/v1/jobs', picturesOfOne());
  expect(refused.status).toBe(429);
  expect((await problemOf(refused)).detail).toContain(
    'The waiting jobs of this tenant cost 4 engine seconds',
  );
  // One second is left of the share.
  expect((await (await keyHolder(world, 'greedy')).ask('POST', '/v1/jobs', drawing('bulk'))).status).toBe(
    202,
  );
  const polite = await keyHolder(world, 'polite');
  expect((await polite.ask('POST', '/v1/jobs', drawing('standard'))).status).toBe(202);
  await greedy.ask('POST', `/v1/jobs/${id}/cancel`);
  expect(await heldBy(world, 'greedy')).toEqual({ load: { 'tiny@1': '1000' }, planned: {}, live: 1 });
  expect((await (await keyHolder(world, 'greedy')).ask('POST', '/v1/jobs', picturesOfOne())).status).toBe(
    202,
  );
});

test('Each node is charged once while its workflow runs, and nothing is kept of it when it has succeeded or failed', async () => {
  const world = await worldOfOneWorker();
  const { ask } = await keyHolder(world, 'acme');
  const shown = async () => {
    const { data } = (await (await world.ask('GET', '/v1/queues')).json()) as {
      data: { wait_ms: Record<string, number> }[];
    };
    return data[0].wait_ms;
  };
  await ask('POST', '/v1/jobs', picturesOfOne());
  await expect.poll(shown).toMatchObject({ standard: 1000 });
  const first = await world.worker.take();
  expect(await heldBy(world, 'acme')).toEqual({ ...PLANNED, load: {} });
  await world.worker.succeed(first);
  const { parent } = (await world.parts.records.read(first.jobId))!;
  await world.parts.workflows.advance(parent!);
  expect(await heldBy(world, 'acme')).toEqual({ load: { 'tiny@1': '3000' }, planned: {}, live: 4 });
  await expect.poll(shown).toMatchObject({ standard: 3000 });
  for (let i = 0; i < 3; i++) await world.worker.succeed(await world.worker.take());
  await world.parts.workflows.advance(parent!);
  expect(await heldBy(world, 'acme')).toEqual(NOTHING);
  await expect.poll(shown).toMatchObject({ standard: 0 });

  await ask('POST', '/v1/jobs', picturesOfOne());
  const failing = await world.worker.take();
  await world.worker.fail(failing);
  await world.parts.workflows.advance((await world.parts.records.read(failing.jobId))!.parent!);
  expect(await heldBy(world, 'acme')).toEqual(NOTHING);
});

test('Without a share the longest wait limits the workflows of a tenant, and its own single jobs behind them', async () => {
  const world = await worldOfOneWorker();
  const free = await keyHolder(world, 'free', { limits: { max_backlog_share: null } });
  const posts = await Promise.all(
    Array.from({ length: 20 }, () => free.ask('POST', '/v1/jobs', picturesOfOne())),
  );
  const made = posts.filter(({ status }) => status === 202);
  expect(made).toHaveLength(3);
  for (const { status } of posts) expect([202, 503]).toContain(status);
  expect((await heldBy(world, 'free')).planned).toEqual({ 'standard tiny@1': '9000', nodes: '9' });
  expect((await free.ask('POST', '/v1/jobs', drawing('standard'))).status).toBe(503);
  expect((await free.ask('POST', '/v1/jobs', drawing('interactive'))).status).toBe(202);
  const other = await keyHolder(world, 'other');
  expect((await other.ask('POST', '/v1/jobs', drawing('standard'))).status).toBe(202);
});

test('A workflow whose nodes would wait too long for each other is refused at once', async () => {
  const world = await worldOfOneWorker();
  const { ask } = await keyHolder(world, 'acme', { limits: { max_backlog_share: null } });
  const workflowOf = (nodes: number, input: (i: number) => object) => ({
    type: 'workflow',
    nodes: Array.from({ length: nodes }, (_, i) => ({
      id: `n${i}`,
      type: 'text-to-image',
      input: { prompt: 'x', steps: 50, ...input(i) },
    })),
  });
  const wide = await ask(
    'POST',
    '/v1/jobs',
    workflowOf(12, () => ({})),
  );
  expect(wide.status).toBe(503);
  expect((await problemOf(wide)).detail).toContain(
    'A node of this workflow would wait about 11 s before it starts',
  );
  expect(await heldBy(world, 'acme')).toEqual(NOTHING);
  // Each of these starts when the one before it has ended.
  const chain = workflowOf(12, (i) => (i === 0 ? {} : { image: `{{n${i - 1}.image}}`, strength: 1 }));
  expect((await ask('POST', '/v1/jobs', chain)).status).toBe(202);
});

test('max_jobs and max_queued count the nodes of workflows, also those that cannot start yet', async () => {
  const world = await worldOfOneWorker();
  for (const limit of ['max_jobs', 'max_queued'] as const) {
    const { ask } = await keyHolder(world, limit.replace('_', '-'), {
      limits: { [limit]: 8, max_backlog_share: null },
    });
    const posts = await Promise.all(
      Array.from({ length: 6 }, () => ask('POST', '/v1/jobs', picturesOfOne('interactive'))),
    );
    expect(posts.filter(({ status }) => status === 202)).toHaveLength(1);
    expect(await problemOf(await ask('POST', '/v1/jobs', picturesOfOne()))).toMatchObject({ status: 429 });
    const [job] = await Promise.all(
      posts.filter(({ status }) => status === 202).map(async (each) => (await each.json()) as Job),
    );
    await ask('POST', `/v1/jobs/${job.id}/cancel`);
    expect((await ask('POST', '/v1/jobs', picturesOfOne())).status).toBe(202);
  }
});

test('What a workflow reserved is given back when the process that admitted it died before storing it', async () => {
  const world = await worldOfOneWorker();
  const { redis, keys, queues, records, admitter } = world.parts;
  const workflowOf = (...jobs: string[]) =>
    ({ nodes: jobs.map((job) => ({ job, model: 'tiny@1', cost: 1000 })) }) as never;
  const request = {
    id: 'job_dead' as never,
    tenant: 'acme' as never,
    queue: WORKFLOW_QUEUE,
    priority: 'standard' as const,
    cost: 2000,
    workflow: workflowOf('a', 'b'),
  };
  const terms = { maxWaitMs: 10_000, idempotency: { hash: 'hash', fingerprint: 'fingerprint' } };
  expect(await admitter.admit(request, terms)).toMatchObject({ code: 'admitted', id: 'job_dead' });
  await redis.zadd(keys.live, (await redisNow(redis)) - 1500, 'job_dead');
  const again = await admitter.admit(
    { ...request, id: 'job_next' as never, workflow: workflowOf('c', 'd', 'e') },
    terms,
  );
  expect(again).toMatchObject({ code: 'admitted', id: 'job_dead' });
  expect(await heldBy(world, 'acme')).toEqual({
    load: {},
    planned: { 'standard tiny@1': '3000', nodes: '3' },
    live: 1,
  });
  await requeueLost(redis, keys, queues, records, (await redisNow(redis)) + 60_000);
  expect(await heldBy(world, 'acme')).toEqual(NOTHING);
  expect(await redis.exists(`${keys.prefix}:planned:job_dead`)).toBe(0);
});
