/** Shadows on real processes: what they report, that callers see nothing of them, and that a version on trial cannot fail a job. */
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Job, Lehr, type Rollout } from '../../packages/client/src/index.ts';
import { writeTinyDiffusion } from '../../packages/demo-models/src/index.ts';
import type { JobId } from '../../packages/shared/src/index.ts';
import { keysOf } from '../../packages/shared/src/redis/index.ts';
import { type ChaosWorld, chaosWorld, LONG_LEASE } from '../chaos/chaos-world.ts';
import { NAN_PROMPT } from '../support/faulty-device.ts';
import type { LehrProcess } from '../support/lehr-process.ts';
import { startRedis, type TestRedis, testRedis } from '../support/redis.ts';
import { tinyModels } from '../support/tiny-models.ts';

let redis: TestRedis;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

const VERSIONS = {
  stable: '{ version: "1", path: tiny }',
  copy: '{ version: "2", path: tiny, weight: 0 }',
  other: '{ version: "3", path: other, weight: 0 }',
} as const;

type Limits = NonNullable<Parameters<Lehr['keys']['create']>[0]['limits']>;

interface ShadowWorld extends ChaosWorld {
  readonly admin: Lehr;
  /** Serves the versions on trial. */
  readonly trial: LehrProcess;
  caller(limits?: Limits): Promise<{ readonly id: string; readonly lehr: Lehr }>;
}

/** An API, a worker that has the stable version only, and one, by default as it ships, that has the versions on trial only. */
async function shadowWorld({ faulty = false } = {}): Promise<ShadowWorld> {
  const folder = dirname(await tinyModels());
  await writeTinyDiffusion(join(folder, 'other'), { seed: 6, timestepType: 'float32' });
  const write = async (name: string, versions: readonly string[]): Promise<string> => {
    const path = join(folder, `${name}.yaml`);
    await writeFile(
      path,
      `models:
  - name: tiny
    task: diffusion
    default: true
    versions: [${versions.join(', ')}]
    defaults: { width: 64, height: 64, steps: 2, guidance: 1, sampler: ddim }
`,
    );
    return path;
  };
  const { stable, copy, other } = VERSIONS;
  const [all, stableFile, trialFile] = await Promise.all([
    write('all', [stable, copy, other]),
    write('stable', [stable]),
    write('trial', [copy, other]),
  ]);
  const world = await chaosWorld({ redis, env: { LEHR_MODELS: all } });
  const [trial] = await Promise.all([
    faulty
      ? world.worker({ ...LONG_LEASE, modelsFile: trialFile, faulty })
      : world.shippedWorker({ LEHR_MODELS: trialFile }),
    world.shippedWorker({ LEHR_MODELS: stableFile }),
  ]);
  const admin = new Lehr({ url: world.url, apiKey: world.client.key });
  return {
    ...world,
    admin,
    trial,
    caller: async (limits = {}) => {
      const { id, key } = await admin.keys.create({ tenant: 'acme', limits });
      return { id, lehr: new Lehr({ url: world.url, apiKey: key }) };
    },
  };
}

const draw = (lehr: Lehr, prompt: string, more: object = {}): Promise<Job> =>
  lehr.submit({ type: 'text-to-image', model: 'tiny', input: { prompt, seed: 1 }, ...more }, { wait: true });

/** Resolves with the rollout when its shadows show these values. */
async function reported(admin: Lehr, shadow: Partial<Rollout['shadow']>): Promise<Rollout> {
  await expect.poll(async () => (await admin.rollouts.get('tiny')).shadow).toMatchObject(shadow);
  return admin.rollouts.get('tiny');
}

async function listed(lehr: Lehr): Promise<string[]> {
  const ids: string[] = [];
  for await (const { id } of lehr.list()) ids.push(id);
  return ids.sort();
}

test('A copy of a version draws the same pictures as shadows, another version draws others, and the caller is given the jobs alone', async () => {
  const world = await shadowWorld();
  const { admin, receiver, webhook } = world;
  const { lehr } = await world.caller();
  await admin.rollouts.deploy('tiny', { version: '2', shadow: 100 });
  const jobs: Job[] = [];
  for (const prompt of ['a red circle', 'a blue square']) {
    jobs.push(await draw(lehr, prompt, { webhook }));
    await reported(admin, { compared: jobs.length });
  }
  const copied = await admin.rollouts.get('tiny');
  const all = { share: 100, jobs: 2, failed: 0, dropped: 0, compared: 2, equal: 2, difference: 0 };
  expect(copied.shadow).toMatchObject(all);
  expect(copied.shadow.time_ratio).toBeGreaterThan(0);
  expect(copied.outcomes).toMatchObject({ stable: { jobs: 2 }, canary: { jobs: 0 } });

  await admin.rollouts.remove('tiny');
  await admin.rollouts.deploy('tiny', { version: '3', shadow: 100 });
  jobs.push(await draw(lehr, 'a red circle', { webhook }));
  const other = await reported(admin, { jobs: 1, failed: 0, compared: 1, equal: 0 });
  expect(other.shadow.difference).toBeGreaterThan(0);

  for (const job of jobs) expect(job).toMatchObject({ status: 'succeeded', model: 'tiny@1' });
  const ids = jobs.map(({ id }) => id).sort();
  expect(await listed(lehr)).toEqual(ids);
  const deliveries = await receiver.until(ids.length);
  const told = deliveries.map(({ body }) => (JSON.parse(body) as { data: Job }).data.id);
  expect([...new Set(told)].sort()).toEqual(ids);
  const { tenants } = await admin.operations.usage();
  const own = tenants.find(({ tenant }) => tenant === 'acme');
  expect(own?.jobs_by_hour.reduce((sum, count) => sum + count, 0)).toBe(ids.length);
  await expect.poll(() => world.storedOutputs()).toHaveLength(ids.length);
});

test('A worker that hangs holds up the shadow alone, which its caller can neither read nor pays for, and without a worker it is dropped', async () => {
  const world = await shadowWorld();
  const { admin, trial } = world;
  const [connection, keys] = [testRedis(redis.url), keysOf(world.namespace)];
  // So little refills that what is spent is what was charged.
  const { id: key, lehr } = await world.caller({ max_jobs: 1, cost_per_minute_s: 0.001 });
  await admin.rollouts.deploy('tiny', { version: '2', shadow: 100 });
  trial.signal('SIGSTOP');
  const job = await draw(lehr, 'a red circle');
  expect(job).toMatchObject({ status: 'succeeded', model: 'tiny@1' });
  await expect.poll(() => connection.zcard(keys.shadows)).toBe(1);
  const [pair] = await connection.zrange(keys.shadows, '0', '0');
  const [original, shadow] = pair.split(' ') as JobId[];
  expect(original).toBe(job.id);
  await expect.poll(() => connection.hget(keys.record(shadow), 'state')).toBe('queued');
  const unknown = { code: 'not-found', status: 404 };
  for (const each of [lehr, admin]) {
    await expect(each.get(shadow)).rejects.toMatchObject(unknown);
    await expect(each.stream(shadow).next()).rejects.toMatchObject(unknown);
    await expect(each.cancel(shadow)).rejects.toMatchObject(unknown);
  }
  expect(await listed(lehr)).toEqual([job.id]);
  const cost = await connection.hget(keys.record(original), 'cost');
  expect(Number(cost)).toBeGreaterThan(0);
  expect(await connection.hget(keys.budget(key), 'used')).toBe(cost);
  trial.signal('SIGCONT');
  await reported(admin, { compared: 1, equal: 1 });
  await expect.poll(() => connection.exists(keys.record(shadow))).toBe(0);

  await trial.stop();
  await expect.poll(async () => (await admin.rollouts.get('tiny')).workers.canary).toBe(0);
  const { lehr: later } = await world.caller();
  let { shadow: found } = await admin.rollouts.get('tiny');
  // What is known of the fleet may be two seconds old: until then a shadow may be posted, which no worker claims.
  while (found.dropped === 0) {
    expect(await draw(later, 'a red circle')).toMatchObject({ status: 'succeeded', model: 'tiny@1' });
    found = (await admin.rollouts.get('tiny')).shadow;
  }
  expect(found).toMatchObject({ jobs: 1, failed: 0, compared: 1 });
});

test('A version that makes invalid numbers or crashes its engine fails its shadows, and all jobs succeed', async () => {
  const world = await shadowWorld({ faulty: true });
  const { admin } = world;
  const { lehr } = await world.caller();
  await admin.rollouts.deploy('tiny', { version: '2', shadow: 100 });
  for (const [i, prompt] of ['a red circle', NAN_PROMPT, 'CRASH'].entries()) {
    expect(await draw(lehr, prompt)).toMatchObject({ status: 'succeeded', model: 'tiny@1', attempt: 1 });
    await reported(admin, { jobs: i + 1 });
  }
  const { state, shadow, outcomes } = await reported(admin, { jobs: 3, compared: 1 });
  expect(shadow).toMatchObject({
    failed: 2,
    failures: { 'numeric-error': 1, 'engine-crashed': 1 },
    dropped: 0,
  });
  expect(state).toBe('running');
  expect(outcomes).toMatchObject({ stable: { jobs: 3, failed: 0 }, canary: { jobs: 0 } });
});
