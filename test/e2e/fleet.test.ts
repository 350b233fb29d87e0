/** `lehr fleet` with real worker processes on simulated devices, over a real API and Redis: it grows, shrinks, restarts and rolls. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import {
  type ChaosWorld,
  chaosWorld,
  QUICK_STEPS,
  SHORT_LEASE,
  SLOW_STEPS,
} from '../../lab/chaos/chaos-world.ts';
import { judge } from '../../lab/chaos/invariants.ts';
import { startLehrCommand } from '../client/lehr-command.ts';
import { blocksOf, readText } from '../repo/readme.ts';
import { type LehrProcess, type LogLine, startProgram } from '../support/lehr-process.ts';
import { startRedis, type TestRedis } from '../support/redis-server.ts';
import { type SimulatedWorkerOptions, simulatedWorker } from '../support/start-simulated-worker.ts';
import { tempFolder } from '../support/tiny-models.ts';

const FLEET = fileURLToPath(new URL('../../apps/worker/dist/programs/local-fleet/main.js', import.meta.url));
/** Quick to shrink, but slower than several reports of a worker: a job that has just started is not in a report yet. */
const POOLS = `pools:
  - name: all
    max: 4
    target_wait_s: { interactive: 1, standard: 1, bulk: 1 }
    start_s: 0
    shrink_after_s: 10
    zero_after_s: 12
`;

let redis: TestRedis;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

async function poolsFile(): Promise<string> {
  const path = join(await tempFolder('pools'), 'pools.yaml');
  await writeFile(path, POOLS);
  return path;
}

interface FleetOptions {
  readonly args?: object;
  readonly worker?: Partial<SimulatedWorkerOptions>;
}

async function startFleet(
  world: ChaosWorld,
  { args = {}, worker = {} }: FleetOptions = {},
): Promise<LehrProcess> {
  const { namespace, home, modelsFile } = world;
  const where = { redisUrl: redis.url, namespace, home, modelsFile };
  const { program, settings } = await simulatedWorker({ ...where, ...SHORT_LEASE, ...worker });
  const command = [process.execPath, program, settings];
  const request = { url: world.url, max: 4, command, ...args };
  const fleet = startProgram(FLEET, { LEHR_API_KEY: world.client.key }, [JSON.stringify(request)]);
  await fleet.logged('fleet is ready');
  return fleet;
}

const countsIn = ({ workers }: LogLine): Record<string, number> => workers as Record<string, number>;
const serves = (count: number) => (line: LogLine) =>
  line.msg === 'fleet has a worker' && countsIn(line).serving === count;
const isEmpty = (line: LogLine): boolean =>
  line.msg === 'a worker of the fleet has ended' && Object.values(countsIn(line)).every((each) => each === 0);

/** A fleet of one worker that serves, and the pid of this worker. */
async function fleetOfOne(world: ChaosWorld): Promise<{ fleet: LehrProcess; pid: number }> {
  const fleet = await startFleet(world, {
    args: { workers: 1 },
    worker: { latency: SLOW_STEPS, drainMs: 6000 },
  });
  const { pid } = await fleet.logged('fleet starts a worker');
  await fleet.line(serves(1));
  return { fleet, pid: pid as number };
}

test('A load wave takes a fleet from 0 to 4 workers and back to 0, no job is lost and no attempt is spent', {
  tags: ['long'],
}, async () => {
  const world = await chaosWorld({ redis, env: { LEHR_POOLS: await poolsFile() } });
  const { client, webhook } = world;
  const fleet = await startFleet(world, { worker: { latency: SLOW_STEPS, leaseMs: 30_000 } });
  const wave = (): Promise<string[]> => client.submitMany(24, () => ({ webhook, input: { steps: 100 } }));
  const ids = await wave();
  let hasFour = false;
  const four = fleet.line(serves(4)).then(() => {
    hasFour = true;
  });
  // The starts of workers may take longer than the jobs: the wave goes on until four workers serve.
  while (!hasFour) {
    await Promise.race([four, client.reached(ids.slice(-12), 'succeeded')]);
    if (!hasFour) ids.push(...(await wave()));
  }
  // A second wave, while the fleet may shrink already.
  await client.reached(ids.slice(0, 8), 'succeeded');
  const accepted = ids.length + 4;
  await client.submitMany(4, () => ({ webhook, input: { steps: 20 } }));
  const verdict = await judge(world, { deletes: false });
  expect(verdict).toMatchObject({
    accepted,
    succeeded: accepted,
    lost: 0,
    repeatedAttempts: 0,
    violations: [],
  });
  await fleet.line(isEmpty);
  expect(fleet.lines.filter(({ msg }) => msg === 'a worker ended by itself and is started again')).toEqual(
    [],
  );
  expect(fleet.lines.filter(({ level }) => level === 'error')).toEqual([]);

  // And from zero again, by one job.
  const started = fleet.lines.filter(({ msg }) => msg === 'fleet starts a worker').length;
  const [late] = await client.submitMany(1, () => ({ webhook }));
  expect((await client.ended(late))?.status).toBe('succeeded');
  expect(fleet.lines.filter(({ msg }) => msg === 'fleet starts a worker').length).toBeGreaterThan(started);
  await fleet.stop();
});

test('A worker that is killed is started again and its job ends, and SIGTERM drains the fleet', {
  tags: ['long'],
}, async () => {
  const world = await chaosWorld({ redis });
  const { client, webhook } = world;
  const { fleet, pid } = await fleetOfOne(world);
  const ids = await client.submitMany(2, () => ({ webhook, input: { steps: 100 } }));
  await client.reached(ids, 'running');
  process.kill(pid, 'SIGKILL');
  await fleet.logged('a worker ended by itself and is started again');
  const jobs = await Promise.all(ids.map((id) => client.ended(id)));
  expect(jobs.map((job) => [job?.status, job?.attempt])).toEqual(ids.map(() => ['succeeded', 2]));

  // Of what runs at a drain, the short job ends and the long one goes back to the queue.
  const [long] = await client.submitMany(1, () => ({ webhook, input: { steps: 900 } }));
  await client.reached([long], 'running');
  const [short] = await client.submitMany(1, () => ({ webhook, input: { steps: 60 } }));
  await client.reached([short], 'running');
  fleet.signal('SIGTERM');
  expect(await fleet.exited()).toBe(0);
  expect((await client.read(short))?.status).toBe('succeeded');
  expect(await client.read(long)).toMatchObject({ status: 'queued', attempt: 0 });
  expect(fleet.lines.filter(({ level }) => level === 'error')).toEqual([]);
  await client.cancel(long);
  expect(await judge(world, { deletes: false })).toMatchObject({ lost: 0, violations: [] });
});

test('Workers whose fleet is killed end their jobs or hand them back, with no attempt spent', {
  tags: ['long'],
}, async () => {
  const world = await chaosWorld({ redis });
  const { client, webhook } = world;
  const { fleet, pid } = await fleetOfOne(world);
  const [long] = await client.submitMany(1, () => ({ webhook, input: { steps: 900 } }));
  await client.reached([long], 'running');
  const [short] = await client.submitMany(1, () => ({ webhook, input: { steps: 60 } }));
  await client.reached([short], 'running');
  fleet.signal('SIGKILL');
  await client.reached([long], 'queued');
  expect(await client.ended(short)).toMatchObject({ status: 'succeeded', attempt: 1 });
  expect(await client.read(long)).toMatchObject({ status: 'queued', attempt: 0 });
  await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow('ESRCH'), 30_000);
  await client.cancel(long);
});

test('A fleet that rolls has a worker of the new version before it drains one of the old version', {
  tags: ['long'],
}, async () => {
  const world = await chaosWorld({ redis });
  const { client, webhook } = world;
  const envFile = join(await tempFolder('fleet'), 'worker.env');
  await writeFile(envFile, 'LEHR_LOG_LEVEL=info\n');
  const fleet = await startFleet(world, { args: { workers: 2, envFile }, worker: { latency: QUICK_STEPS } });
  await fleet.line(serves(2));
  const ids = await client.submitMany(30, () => ({ webhook, input: { steps: 40 } }));
  const before = fleet.lines.length;
  fleet.signal('SIGHUP');
  const ended = (): LogLine[] => fleet.lines.filter(({ msg }) => msg === 'a worker of the fleet has ended');
  await fleet.line(() => ended().length === 2);
  const order = fleet.lines
    .slice(before)
    .map(({ msg }) => msg)
    .filter((msg) => ['fleet starts a worker', 'fleet has a worker', 'fleet drains a worker'].includes(msg));
  expect(order).toEqual([
    ...['fleet starts a worker', 'fleet has a worker', 'fleet drains a worker'],
    ...['fleet starts a worker', 'fleet has a worker', 'fleet drains a worker'],
  ]);
  const jobs = await Promise.all(ids.map((id) => client.ended(id)));
  expect(jobs.map((job) => [job?.status, job?.attempt])).toEqual(ids.map(() => ['succeeded', 1]));

  // A version that cannot start leaves the fleet as it is.
  await writeFile(envFile, 'NODE_OPTIONS=--no-such-option\n');
  fleet.signal('SIGHUP');
  await fleet.line(
    ({ msg, pauseMs }) => msg === 'a worker ended by itself and is started again' && Number(pauseMs) > 900,
  );
  expect(ended()).toHaveLength(2);
  const [late] = await client.submitMany(1, () => ({ webhook }));
  expect((await client.ended(late))?.status).toBe('succeeded');
  await fleet.stop();
});

test('The command of docs/scaling.md runs the worker that ships, from zero, and notes how long its start took', {
  tags: ['long'],
}, async () => {
  const page = readText('docs/scaling.md');
  const blockOf = (label: string): string => blocksOf(page).find((each) => each.label === label)?.text ?? '';
  const folder = await tempFolder('fleet');
  const pools = join(folder, 'pools.yaml');
  await writeFile(pools, blockOf('pools'));
  const world = await chaosWorld({ redis, env: { LEHR_POOLS: pools } });
  const variables = {
    LEHR_REDIS_URL: redis.url,
    LEHR_NAMESPACE: world.namespace,
    LEHR_HOME: world.home,
    LEHR_MODELS: world.modelsFile,
    LEHR_STORE_SECRET: 'x'.repeat(32),
    LEHR_DEVICE: 'cpu',
    LEHR_THREADS: '1',
  };
  const text = Object.entries(variables).map(([name, value]) => `${name}=${value}\n`);
  await writeFile(join(folder, 'worker.env'), text.join(''));
  const [program, ...args] = blockOf('fleet').trim().split(' ');
  expect(program).toBe('lehr');
  const env = { LEHR_URL: world.url, LEHR_API_KEY: world.client.key };
  const { child, ended } = startLehrCommand(args, { env, cwd: folder });
  const [id] = await world.client.submitMany(1);
  expect((await world.client.ended(id))?.status).toBe('succeeded');
  // The API decides at most once a second.
  await vi.waitFor(async () => {
    const answer = await world.client.ask('GET', '/v1/scale/pictures');
    expect(((await answer.json()) as { start_s: number }).start_s).not.toBe(90);
  }, 60_000);
  child.kill('SIGTERM');
  const { code, stdout } = await ended;
  expect(code).toBe(0);
  expect(stdout).toContain('"msg":"fleet is ready"');
  expect(stdout).toContain('"msg":"worker started"');
});

test('A second SIGTERM to the command ends workers that still drain, and the command ends after them', async () => {
  const drains = `
    setInterval(() => {}, 1000);
    let signals = 0;
    process.on('SIGTERM', () => {
      if ((signals += 1) !== 2) return;
      console.log('signals:', signals);
      setTimeout(() => process.exit(130), 1000);
    });
    process.send({ type: 'serving', worker: 'w' });
  `;
  const args = ['fleet', '--workers', '1', '--', process.execPath, '-e', drains];
  const env = { LEHR_URL: 'http://127.0.0.1:9', LEHR_API_KEY: 'not-asked-for-'.padEnd(32, 'x') };
  const { child, ended } = startLehrCommand(args, { env, cwd: await tempFolder('fleet') });
  let printed = '';
  child.stdout.on('data', (data) => {
    printed += data;
  });
  await vi.waitFor(() => expect(printed).toContain('"fleet has a worker"'), 20_000);
  child.kill('SIGTERM');
  await vi.waitFor(() => expect(printed).toContain('"fleet stops"'), 20_000);
  // Signals that arrive together count as one; and one that arrives while the command ends would end it with another code.
  const again = setInterval(() => child.kill('SIGTERM'), 200);
  await vi.waitFor(() => expect(printed).toContain('signals: 2'), 20_000);
  clearInterval(again);
  const { code, stdout } = await ended;
  expect(stdout).toContain('"msg":"a worker of the fleet has ended"');
  expect(code).toBe(0);
});
