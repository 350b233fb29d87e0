/** GET /v1/scale/{pool}: how many workers there should be, from real queues and reports. */
import { execFile } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { readApiSettings } from '../../apps/api/src/base/env.ts';
import { Backlog } from '../../apps/api/src/fleet/backlog.ts';
import { FleetView } from '../../apps/api/src/fleet/fleet-view.ts';
import { PauseStore } from '../../apps/api/src/fleet/pause-store.ts';
import { PoolScaler } from '../../apps/api/src/fleet/pool-scaler.ts';
import { listen } from '../../apps/api/src/http/listen.ts';
import {
  endStarting,
  newWorkerId,
  parsePools,
  parseRegistry,
  reportStarting,
  SCALE_REASONS,
  type Scale,
  ScalePolicySchema,
  ScaleSchema,
  systemClock,
} from '../../packages/shared/src/index.ts';
import { blocksOf, readText } from '../repo/readme.ts';
import { API_KEY, type ApiWorld, apiWorld, MODELS, problemOf } from '../support/api-world.ts';
import { keyHolder } from '../support/key-holder.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { type SeenCommand, watchCommands } from '../support/watch-commands.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

/** A process beside the one of the world: with empty caches, on the same Redis. */
function another({ parts }: ApiWorld, clock = systemClock, text = 'pools: [{ name: all, start_s: 0 }]') {
  const { redis, keys, queues, registry, audit } = parts;
  const pauses = new PauseStore({ redis, keys, audit, clock });
  const fleet = new FleetView(redis, keys, queues, clock);
  const backlog = new Backlog(redis, keys, fleet, pauses, clock);
  const pools = parsePools(text, registry);
  return new PoolScaler({ redis, keys, pools, registry, fleet, backlog, clock });
}

/** Without what the process of the world read before. */
const scaleOf = async (world: ApiWorld): Promise<Scale> =>
  ScaleSchema.strict().parse(await another(world).of('all', { isAsked: true }));

test('Without work and without workers none are wanted, and the first job wants one', async () => {
  const world = await apiWorld(server.url);
  expect(await another(world).of('all', { isAsked: true })).toMatchObject({
    desired_workers: 0,
    reason: 'idle',
    explanation: '0: no work',
  });
  const { id } = await world.post();
  const scale = await scaleOf(world);
  expect(scale).toMatchObject({ desired_workers: 1, reason: 'waiting', workers: { live: 0, starting: 0 } });
  expect(scale.explanation).toMatch(/^1: [\d.]+ s of work waits/);
  expect(scale.waiting_s.standard).toBeGreaterThan(0);
  expect((await world.get(id)).status).toBe('queued');
});

test('The number follows the estimated work and not the count of jobs, by the target of each class', async () => {
  const world = await apiWorld(server.url);
  await world.worker.report({
    draining: true,
    // One row-step per second.
    lanes: [{ queue: 'diffusion.tiny@1.64x64', rows: 0, row_cap: 8, samples: 0, row_steps_per_s: 1 }],
  });
  await world.post();
  const { waiting_s, desired_workers, workers } = await scaleOf(world);
  expect(waiting_s.standard).toBeGreaterThan(10);
  expect(workers).toEqual({ live: 0, starting: 0, draining: 1 });
  expect(desired_workers).toBe(Math.min(4, Math.ceil(waiting_s.standard / 15)));
  const bulk = await apiWorld(server.url);
  await bulk.worker.report({
    draining: true,
    lanes: [{ queue: 'diffusion.tiny@1.64x64', rows: 0, row_cap: 8, samples: 0, row_steps_per_s: 1 }],
  });
  await bulk.post({}, { priority: 'bulk' });
  expect((await scaleOf(bulk)).desired_workers).toBe(1);
});

test('Work in hand keeps its worker, which is listed with its jobs', async () => {
  const world = await apiWorld(server.url);
  await world.worker.report({
    jobs: 2,
    lanes: [{ queue: 'diffusion.tiny@1.64x64', rows: 8, row_cap: 8, samples: 2, row_steps_per_s: 50 }],
  });
  expect(await scaleOf(world)).toMatchObject({
    desired_workers: 1,
    reason: 'running',
    explanation: '1: 2 jobs run',
    running_jobs: 2,
    members: [{ id: world.worker.id, state: 'live', jobs: 2 }],
  });
});

test('What one process decided is held by another one, until it has held long enough', async () => {
  const world = await apiWorld(server.url);
  let passedMs = 0;
  const clock = { ...systemClock, now: () => Date.now() + passedMs };
  const job = await world.post();
  const first = await another(world, clock).of('all', { isAsked: true });
  expect(first?.desired_workers).toBe(1);
  expect((await world.ask('POST', `/v1/jobs/${job.id}/cancel`)).status).toBe(200);
  passedMs += 100_000;
  expect(await another(world, clock).of('all', { isAsked: true })).toMatchObject({
    desired_workers: 1,
    reason: 'holding',
  });
  passedMs += 201_000;
  expect((await another(world, clock).of('all', { isAsked: true }))?.desired_workers).toBe(0);
});

test('Workers that start are counted, and a measured start replaces the configured one', async () => {
  const world = await apiWorld(server.url);
  const { redis, keys } = world.parts;
  const starting = { id: newWorkerId('host'), since: Date.now(), models: ['tiny@1'] };
  await reportStarting(redis, keys, starting);
  expect(await another(world).of('all', { isAsked: false })).toMatchObject({
    workers: { live: 0, starting: 1 },
    start_s: 0,
    members: [{ id: starting.id, state: 'starting', jobs: 0 }],
  });
  await endStarting(redis, keys, starting, { at: Date.now(), total_ms: 4200, stages_ms: { open: 4000 } });
  expect(await another(world).of('all', { isAsked: false })).toMatchObject({
    workers: { live: 0, starting: 0 },
    start_s: 4.2,
  });
});

test('An answer takes the same number of Redis commands for one job and for a hundred', async () => {
  const world = await apiWorld(server.url);
  const count = async (): Promise<number> => {
    const commands: SeenCommand[] = [];
    await watchCommands(server.url, (command) => commands.push(command));
    const scaler = another(world);
    await scaler.of('all', { isAsked: true });
    // The last command of the answer is seen before it is counted.
    await vi.waitFor(() => expect(commands.map(({ args }) => args[0]?.toLowerCase())).toContain('set'));
    return commands.filter(({ args }) => args.join(' ').includes(world.parts.keys.prefix)).length;
  };
  await world.post();
  const withOne = await count();
  for (let i = 0; i < 100; i += 1) await world.post();
  expect(await count()).toBe(withOne);
  expect(withOne).toBeLessThan(12);
});

test('The route is for keys of the scopes scale and admin, and names the pools that there are', async () => {
  const world = await apiWorld(server.url);
  const scaler = await keyHolder(world, 'cluster', { scopes: ['scale'] });
  const answer = await scaler.ask('GET', '/v1/scale/all');
  expect(ScaleSchema.strict().parse(await answer.json())).toMatchObject({ desired_workers: 0, start_s: 30 });
  expect((await scaler.ask('GET', '/v1/queues')).status).toBe(403);
  const caller = await keyHolder(world, 'acme', { scopes: ['submit', 'read', 'cancel'] });
  const refused = await caller.ask('GET', '/v1/scale/all');
  expect([refused.status, (await problemOf(refused)).detail]).toEqual([
    403,
    'This key does not have the right to scale or admin.',
  ]);
  const unknown = await world.ask('GET', '/v1/scale/pictures');
  expect([unknown.status, (await problemOf(unknown)).detail]).toEqual([
    404,
    'There is no pool "pictures". Pools: all.',
  ]);
});

test('The metrics have the number, the workers by state and the waiting work', async () => {
  const world = await apiWorld(server.url);
  await world.worker.report({ jobs: 1 });
  const page = await (await world.ask('GET', '/metrics')).text();
  expect(page).toContain('lehr_scale_desired_workers{pool="all"} 1');
  expect(page).toContain('lehr_scale_workers{pool="all",state="live"} 1');
  expect(page).toContain('lehr_scale_workers{pool="all",state="starting"} 0');
  expect(page).toContain('lehr_scale_waiting_seconds{pool="all",class="bulk"} 0');
  expect(page).toContain('lehr_scale_start_seconds{pool="all"} 30');
});

test('Two scrapes at the same time both have all gauges', async () => {
  const world = await apiWorld(server.url);
  await world.worker.report({});
  const { scaler, webhooks } = world.parts;
  const steps = new EventEmitter();
  const [firstDecides, secondReads] = [once(steps, 'decides'), once(steps, 'reads')];
  const pageOf = async (): Promise<string> => (await world.ask('GET', '/metrics')).text();
  vi.spyOn(scaler, 'of').mockImplementationOnce(() => {
    steps.emit('decides');
    return secondReads.then(() => another(world).of('all', { isAsked: false }) as Promise<Scale>);
  });
  const first = pageOf();
  await firstDecides;
  const counts = await webhooks.deliveries.counts();
  // The second scrape has reset the gauges and reads, until the first one has answered.
  vi.spyOn(webhooks.deliveries, 'counts').mockImplementationOnce(async () => {
    steps.emit('reads');
    await first;
    return counts;
  });
  const second = await pageOf();
  for (const page of [await first, second]) {
    expect(page).toContain('lehr_workers{model="tiny",version="1",draining="false"} 1');
    expect(page).toContain('lehr_scale_desired_workers{pool="all"}');
  }
});

test('A pools.yaml that cannot be used is reported with the other faults at the start', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'lehr-pools-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const models = join(folder, 'models.yaml');
  await writeFile(
    models,
    'models: [{ name: tiny, task: diffusion, versions: [{ version: "1", path: tiny }] }]',
  );
  const pools = join(folder, 'pools.yaml');
  await writeFile(pools, 'pools: [{ name: a, models: [tinny] }]');
  const read = (LEHR_POOLS: string) =>
    readApiSettings({ LEHR_MODELS: models, LEHR_POOLS, LEHR_PORT: 'http', LEHR_HOME: folder }, models);
  await expect(read(pools)).rejects.toThrow(
    /LEHR_PORT is "http"[\s\S]*LEHR_POOLS is .*models.yaml has no model "tinny"/,
  );
  await expect(read(join(folder, 'nothing.yaml'))).rejects.toThrow(/LEHR_POOLS is .*it does not exist/);
});

const PAGE = readText('docs/scaling.md');
const blockOf = (label: string): string => blocksOf(PAGE).find((each) => each.label === label)?.text ?? '';

test('The command of docs/scaling.md runs, its answer has the fields that it shows, and its pools are accepted', async () => {
  const world = await apiWorld(server.url);
  const listener = await listen('127.0.0.1', 0);
  onTestFinished(() => listener.close(0));
  listener.serve(world.app.fetch);
  const env = {
    PATH: process.env.PATH,
    LEHR_API_KEY: API_KEY,
    LEHR_URL: `http://127.0.0.1:${listener.port}`,
  };
  const { stdout } = await promisify(execFile)('sh', ['-eu', '-c', blockOf('scale')], { env });
  const shown = blocksOf(PAGE).find(({ language }) => language === 'json')?.text ?? '';
  const fieldsOf = (text: string): string[] => Object.keys(ScaleSchema.strict().parse(JSON.parse(text)));
  expect(fieldsOf(stdout)).toEqual(fieldsOf(shown));
  const withEars = parseRegistry(
    `${MODELS}  - { name: ears, task: whisper, versions: [{ version: "1", path: e }] }\n`,
  );
  expect(parsePools(blockOf('pools'), withEars).map(({ name }) => name)).toEqual(['pictures', 'speech']);
});

test('KEDA reads a field of the answer, and the page names every reason', () => {
  const [, field] = /valueLocation: (\w+)/.exec(blockOf('keda')) ?? [];
  expect(Object.keys(ScaleSchema.shape)).toContain(field);
  for (const reason of SCALE_REASONS) expect(PAGE).toContain(`\`${reason}\``);
  for (const name of Object.keys(ScalePolicySchema.shape)) expect(PAGE).toContain(`\`${name}\``);
});
