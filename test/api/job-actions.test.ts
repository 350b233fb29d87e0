/** Actions on all jobs that match a filter: each job once, no other tenant's, and to the end whatever dies meanwhile. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { act } from '../../apps/api/src/actions/act.ts';
import { runActions } from '../../apps/api/src/actions/run-actions.ts';
import type { Job, JobAction, JobActionRequest, JobId, TenantId } from '../../packages/shared/src/index.ts';
import { Prioritizer } from '../../packages/shared/src/queue/index.ts';
import { keysOf } from '../../packages/shared/src/redis/index.ts';
import { lehrFor, lehrShell } from '../client/lehr-command.ts';
import { servedApi } from '../client/served-api.ts';
import { blocksOf, readText } from '../repo/readme.ts';
import { API_KEY, type ApiWorld, apiWorld, problemOf } from '../support/api-world.ts';
import { whenDone } from '../support/cleanup.ts';
import { installation } from '../support/installation.ts';
import { keyHolder } from '../support/key-holder.ts';
import { startLehr } from '../support/lehr-process.ts';
import { startRedis, type TestRedis, testRedis } from '../support/redis.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

type Asking = Pick<ApiWorld, 'ask'>;
type Wanted = Partial<JobActionRequest> & Pick<JobActionRequest, 'action'>;
const PATH = '/v1/job-actions';

async function begin({ ask }: Asking, wanted: Wanted): Promise<JobAction> {
  const response = await ask('POST', PATH, wanted);
  expect(response.status).toBe(202);
  return (await response.json()) as JobAction;
}

const read = async ({ ask }: Asking, id: string): Promise<JobAction> =>
  (await (await ask('GET', `${PATH}/${id}`)).json()) as JobAction;

async function ended(world: Asking, { id }: JobAction): Promise<JobAction> {
  await expect.poll(async () => (await read(world, id)).ended_at, { timeout: 20_000 }).not.toBeNull();
  return read(world, id);
}

/** A world whose actions are worked on. */
async function working(world: ApiWorld): Promise<ApiWorld> {
  whenDone(runActions(world.parts));
  return world;
}

const statesOf = async (world: ApiWorld, jobs: readonly Job[]): Promise<string[]> =>
  Promise.all(jobs.map(async ({ id }) => (await world.get(id)).status));

async function postSome(world: ApiWorld, count: number, rest: object = {}): Promise<Job[]> {
  const jobs: Job[] = [];
  for (let seed = 0; seed < count; seed += 1) jobs.push(await world.post({ seed }, rest));
  return jobs;
}

test('A count comes first, and then only jobs that match, of the tenant, and made before are canceled', async () => {
  const world = await apiWorld(server.url);
  const other = await keyHolder(world, 'other');
  const mine = await postSome(world, 45, { metadata: { customer: '42' } });
  const [unlike] = await postSome(world, 1, { metadata: { customer: '43' } });
  await world.worker.succeed(await world.worker.take());
  const request = { type: 'text-to-image', input: { prompt: 'a' }, metadata: { customer: '42' } };
  const foreign = (await (await other.ask('POST', '/v1/jobs', request)).json()) as Job;
  const wanted = { action: 'cancel' as const, filter: { metadata: { customer: '42' } } };

  const counted = await world.ask('POST', PATH, { ...wanted, dry_run: true });
  expect([counted.status, await counted.json()]).toEqual([
    200,
    { object: 'job_action_count', count: 45, count_is_exact: true },
  ]);
  const action = await begin(world, wanted);
  expect(action).toMatchObject({ status: 'running', count: 45, matched: 0, priority: null });
  const [later] = await postSome(world, 1, { metadata: { customer: '42' } });
  await working(world);

  expect(await ended(world, action)).toMatchObject({
    status: 'completed',
    matched: 45,
    done: 44,
    skipped: 1,
  });
  const states = await statesOf(world, mine);
  expect(states.filter((state) => state === 'canceled')).toHaveLength(44);
  expect(await statesOf(world, [unlike, later])).toEqual(['queued', 'queued']);
  const { status } = (await (await other.ask('GET', `/v1/jobs/${foreign.id}`)).json()) as Job;
  expect(status).toBe('queued');
  expect((await other.ask('GET', `${PATH}/${action.id}`)).status).toBe(404);
  expect(await (await other.ask('GET', PATH)).json()).toEqual({ data: [] });
  const entries = (await (await world.ask('GET', '/v1/audit')).json()) as { data: object[] };
  expect(entries.data).toMatchObject([
    { action: 'jobs.action-ended', target: action.id, actor: 'root', changes: { done: 44, skipped: 1 } },
    {
      action: 'jobs.action-started',
      target: action.id,
      changes: { action: 'cancel', filter: wanted.filter },
    },
    {},
  ]);
  const { redis, keys } = world.parts;
  expect(await redis.exists(keys.jobActionsDue, keys.openJobActionsOf('default' as TenantId))).toBe(0);
});

test('Failed jobs are retried once each, however often it is asked for, and then deleted, and what cannot be retried is counted by its error', async () => {
  const world = await working(await apiWorld(server.url));
  const failed = await postSome(world, 3);
  for (const _ of failed) await world.worker.fail(await world.worker.take());
  const { redis, keys } = world.parts;
  await redis.hset(keys.record(failed[1].id as JobId), 'model', 'removed@1');
  const filter = { status: 'failed' as const, error_code: 'numeric-error' as const };

  const retried = await ended(world, await begin(world, { action: 'retry', filter }));
  expect(retried).toMatchObject({ matched: 3, done: 2, failed: 1 });
  expect(retried.errors).toMatchObject([{ code: 'model-not-found', count: 1, job: failed[1].id }]);
  const { data } = (await (await world.ask('GET', '/v1/jobs?status=queued')).json()) as { data: Job[] };
  expect(data.map(({ retried_from }) => retried_from).sort()).toEqual([failed[0].id, failed[2].id].sort());

  const again = await ended(world, await begin(world, { action: 'retry', filter }));
  expect(again).toMatchObject({ matched: 3, done: 0, skipped: 2, failed: 1 });
  const other = { ...filter, error_code: 'engine-crashed' as const };
  expect(await ended(world, await begin(world, { action: 'delete', filter: other }))).toMatchObject({
    matched: 0,
  });
  const deleted = await ended(world, await begin(world, { action: 'delete', filter: {}, all: true }));
  expect(deleted).toMatchObject({ matched: 5, done: 3, skipped: 2, failed: 0 });
  for (const { id } of failed) expect((await world.ask('GET', `/v1/jobs/${id}`)).status).toBe(404);
});

test('Two actions that come to a job at the same moment retry it once, and after a crash each says of it what it said before', async () => {
  const world = await apiWorld(server.url);
  const [{ id }] = await postSome(world, 1);
  await world.worker.fail(await world.worker.take());
  const wanted = { action: 'retry' as const, filter: { status: 'failed' as const } };
  const caller = await world.parts.authenticator.authenticate(API_KEY);
  const begun = [await begin(world, wanted), await begin(world, wanted)];
  const outcomes = () =>
    Promise.all(
      begun.map(async (each) => {
        const action = await world.parts.jobActions.read(each.id);
        if (!action || !caller) throw new Error('the action is gone');
        const parts = { ...world.parts, prioritizer: new Prioritizer(world.parts) };
        return act(parts, caller, action, id as JobId);
      }),
    );
  const first = await outcomes();
  expect([...first].sort()).toEqual(['done', 'skipped']);
  expect(await outcomes()).toEqual(first);
  const { data } = (await (await world.ask('GET', '/v1/jobs?status=queued')).json()) as { data: Job[] };
  expect(data.map(({ retried_from }) => retried_from)).toEqual([id]);
});

test('Waiting jobs get the place of a new job of their new priority, and later ones of the old priority wait behind them', async () => {
  const world = await working(await apiWorld(server.url));
  const bulk = await postSome(world, 2, { priority: 'bulk', metadata: { urgent: 'yes' } });
  const [standard] = await postSome(world, 1);
  const scheduled = await world.post({}, { priority: 'bulk', metadata: { urgent: 'yes' }, delay_s: 3600 });
  const filter = { metadata: { urgent: 'yes' } };
  const wanted = { action: 'prioritize' as const, priority: 'interactive' as const, filter };
  const { redis, keys } = world.parts;
  const queue = 'diffusion.tiny@1.64x64';
  const loads = await redis.hgetall(keys.load(queue));

  expect(await ended(world, await begin(world, wanted))).toMatchObject({ done: 3, skipped: 0 });
  expect(await ended(world, await begin(world, wanted))).toMatchObject({ done: 0, skipped: 3 });

  for (const { id } of [...bulk, scheduled]) expect((await world.get(id)).priority).toBe('interactive');
  expect(await redis.hget(keys.load(queue), 'interactive')).toBe(loads.bulk);
  const taken: string[] = [];
  for (let i = 0; i < 3; i += 1) {
    const claim = await world.worker.take();
    taken.push(claim.jobId);
    await world.worker.succeed(claim);
  }
  expect(taken).toEqual([...bulk.map(({ id }) => id), standard.id]);
  const left = Object.values(await redis.hgetall(keys.load(queue))).map(Number);
  expect(left.every((ms) => Math.abs(ms) < 1)).toBe(true);
});

test('Retries that do not fit the limit of the key wait for room, and a canceled action stops', async () => {
  const world = await working(await apiWorld(server.url));
  const holder = await keyHolder(world, 'small', { limits: { max_jobs: 2 } });
  const request = { type: 'text-to-image', input: { prompt: 'a' } };
  for (let i = 0; i < 4; i += 1) {
    await holder.ask('POST', '/v1/jobs', request);
    await world.worker.fail(await world.worker.take());
  }
  const action = await begin(holder, { action: 'retry', filter: { status: 'failed' } });
  await expect.poll(async () => (await read(holder, action.id)).done).toBe(2);
  await world.worker.succeed(await world.worker.take());
  await expect.poll(async () => (await read(holder, action.id)).done, { timeout: 5000 }).toBe(3);
  expect((await holder.ask('POST', `${PATH}/${action.id}/cancel`)).status).toBe(200);
  expect(await ended(holder, action)).toMatchObject({ status: 'canceled', matched: 4, done: 3, failed: 0 });
});

test.each([
  ['an empty filter without all', { action: 'delete', filter: {} }, '/filter'],
  ['an unknown field', { action: 'cancel', filter: { state: 'queued' } }, '/filter/state'],
  [
    'a priority for a cancellation',
    { action: 'cancel', priority: 'bulk', filter: {}, all: true },
    '/priority',
  ],
  ['no priority', { action: 'prioritize', filter: {}, all: true }, '/priority'],
])('An action with %s is refused, and the answer names the field', async (_, wanted, pointer) => {
  const world = await apiWorld(server.url);
  const response = await world.ask('POST', PATH, wanted);
  expect(response.status).toBe(422);
  expect((await problemOf(response)).errors).toMatchObject([{ pointer }]);
});

test('An action needs the scope of the same for one job, another tenant that of an administrator, and ends with its key', async () => {
  const world = await apiWorld(server.url);
  const submitter = await keyHolder(world, 'small', { scopes: ['submit', 'read'] });
  const job = (await (
    await submitter.ask('POST', '/v1/jobs', { type: 'text-to-image', input: { prompt: 'a' } })
  ).json()) as Job;
  const cancel = { action: 'cancel' as const, filter: { status: 'queued' as const } };
  expect((await submitter.ask('POST', PATH, cancel)).status).toBe(403);
  const retry = { action: 'retry' as const, filter: { status: 'queued' as const } };
  expect((await submitter.ask('POST', PATH, { ...retry, tenant: 'other' })).status).toBe(403);
  const lost = await begin(submitter, retry);
  await world.ask('DELETE', `/v1/keys/${submitter.key.id}`);
  await expect.poll(() => world.parts.authenticator.find(submitter.key.id)).toBeUndefined();
  await begin(world, { ...cancel, tenant: 'small' });
  await working(world);
  const { records, jobActions } = world.parts;
  await expect.poll(async () => (await records.read(job.id as JobId))?.state).toBe('canceled');
  await expect.poll(async () => (await jobActions.read(lost.id))?.status).toBe('failed');
});

test('lehr says how many jobs match, does it with --yes, and ends with the counts', {
  tags: ['long'],
}, async () => {
  const api = await servedApi(server.url);
  await working(api);
  const lehr = lehrFor(api);
  for (let seed = 0; seed < 3; seed += 1) {
    await api.post({ seed });
    await api.worker.fail(await api.worker.take());
  }
  expect((await lehr(['jobs', 'delete', '--status', 'failed', '--dry-run'])).stdout).toBe('3 jobs match.\n');
  const asked = await lehr(['jobs', 'delete', '--status', 'failed']);
  expect(asked).toMatchObject({ code: 64, stdout: '' });
  expect(asked.stderr).toContain('3 jobs match: --yes is needed');
  const retried = await lehr(['jobs', 'retry', '--code', 'numeric-error', '--after', '1h', '--yes']);
  expect(retried).toMatchObject({ code: 0 });
  expect(retried.stdout).toMatch(/^bulk_\S+ completed: 3 done, 0 skipped, 0 failed\n$/);
  expect((await lehr(['jobs', 'prioritize', 'bulk', '--status', 'queued', '-y'])).stdout).toContain('3 done');
  expect((await lehr(['jobs', 'cancel', '--all', '-y'])).stdout).toContain('3 done, 3 skipped');
  const ended = JSON.parse((await lehr(['jobs', 'delete', '--all', '-y', '--json'])).stdout) as JobAction;
  expect(ended).toMatchObject({ status: 'completed', done: 6 });
});

test('The commands of docs/bulk-actions.md count, cancel, retry, prioritize and delete', {
  tags: ['long'],
}, async () => {
  const api = await servedApi(server.url);
  await working(api);
  await postSome(api, 2, { metadata: { customer: '42' } });
  const { run } = await lehrShell({ LEHR_URL: api.url, LEHR_API_KEY: api.key });
  const commands = blocksOf(readText('docs/bulk-actions.md')).find(({ label }) => label === 'actions');
  const said = (await run(commands?.text ?? '')).split('\n');
  expect(said[0]).toBe('2 jobs match.');
  expect(said[1]).toContain('completed: 2 done, 0 skipped, 0 failed');
  expect(said.slice(2, 5).every((line) => line.includes('completed: 0 done'))).toBe(true);
});

test('An action goes on after the API process that works on it is killed, and every job is done and counted once', async () => {
  const env = await installation(server.url, {
    LEHR_API_KEY: 'lehr_test_key_0123456789',
    LEHR_MAX_WAIT_S: '86400',
  });
  const headers = { authorization: `Bearer ${env.LEHR_API_KEY}`, 'content-type': 'application/json' };
  const start = async () => {
    const api = startLehr('api', env);
    const url = String((await api.logged('API is listening')).url);
    const ask: ApiWorld['ask'] = (method, path, body) =>
      fetch(`${url}${path}`, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
    return { api, ask };
  };
  const first = await start();
  const request = { type: 'text-to-image', input: { prompt: 'a' } };
  const requests = Array.from({ length: 300 }, () => request);
  for (let at = 0; at < requests.length; at += 20) {
    const some = requests.slice(at, at + 20).map((each) => first.ask('POST', '/v1/jobs', each));
    for (const { status } of await Promise.all(some)) expect(status).toBe(202);
  }
  const action = await begin(first, { action: 'cancel', filter: { status: 'queued' } });
  const redis = testRedis(server.url);
  const { jobAction, jobActionsDue } = keysOf(env.LEHR_NAMESPACE);
  await expect
    .poll(async () => Number(await redis.hget(jobAction(action.id), 'done')), { interval: 2 })
    .toBeGreaterThan(0);
  first.api.signal('SIGKILL');
  await first.api.exited();
  expect(Number(await redis.hget(jobAction(action.id), 'done'))).toBeLessThan(300);
  const second = await start();
  // As if the time for which a process may hold it had passed.
  await redis.zadd(jobActionsDue, 'XX', 0, action.id);
  const done = await ended(second, action);
  expect(done).toMatchObject({ status: 'completed', matched: 300, done: 300, skipped: 0, failed: 0 });
  const left = (await (await second.ask('GET', '/v1/jobs?status=queued')).json()) as { data: Job[] };
  expect(left.data).toEqual([]);
});
