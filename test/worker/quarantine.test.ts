/** Workers whose engine fails one job after the other. */
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readFleet } from '../../packages/shared/src/index.ts';
import { lehrFor } from '../client/lehr-command.ts';
import { freePort } from '../support/ports.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { startStack } from '../support/stack.ts';
import { SLOW_MACHINE } from '../support/timeouts.ts';
import { tinyModels } from '../support/tiny-models.ts';
import { workerWorld } from '../support/worker-world.ts';

let redis: TestRedis;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

const CRASHES = 5;
/** Latents divided by this are infinite. */
const TOO_SMALL = 1e-60;

test('A worker whose engine fails five jobs in a row claims none for a while, then restarts its engine and serves', {
  tags: ['long'],
}, async () => {
  const world = await workerWorld(redis.url);
  const worker = await world.simulated({ faulty: true, times: { quarantineMs: 6000, reportEveryMs: 100 } });
  for (let seed = 0; seed < CRASHES; seed++) {
    const id = await world.draw({ prompt: 'CRASH', seed });
    expect(await world.reached(id)).toMatchObject({ error: { code: 'engine-crashed' } });
  }
  await worker.logged('worker in quarantine; it claims no jobs');
  const waiting = await world.draw();
  const reason = '5 jobs in a row failed, the last one with engine-crashed';
  const reasons = async () =>
    (await readFleet(world.redis, world.keys)).map(({ quarantined }) => quarantined);
  await expect.poll(reasons, SLOW_MACHINE).toEqual([reason]);
  expect(await world.records.read(waiting)).toMatchObject({ state: 'queued', attempt: 0 });

  expect(await world.reached(waiting)).toMatchObject({ state: 'succeeded' });

  const started = worker.lines.findIndex(({ msg, job }) => msg === 'job started' && job === waiting);
  const over = worker.lines.findIndex(({ msg }) => msg === 'quarantine over; the worker claims jobs again');
  expect(over).toBeGreaterThan(-1);
  expect(started).toBeGreaterThan(over);
  expect(worker.lines.filter(({ msg }) => msg === 'engine restarted')).toHaveLength(CRASHES + 1);
  await expect.poll(reasons, SLOW_MACHINE).toEqual([undefined]);
});

test('The queues, the command lehr, the metrics and the readiness of a worker show that it is in quarantine', {
  tags: ['long'],
}, async () => {
  const models = await tinyModels();
  const vae = join(dirname(models), 'tiny', 'vae_decoder', 'config.json');
  const config = JSON.parse(await readFile(vae, 'utf8')) as object;
  await writeFile(vae, JSON.stringify({ ...config, scaling_factor: TOO_SMALL }));
  const stack = await startStack(redis, { LEHR_MODELS: models });
  const port = await freePort();
  const worker = await stack.worker({ LEHR_WORKER_PORT: `${port}` });
  const ask = (path: string) => fetch(`http://127.0.0.1:${port}${path}`);
  expect(await (await ask('/metrics')).text()).toContain('lehr_worker_quarantined 0\n');
  const jobs = await Promise.all(
    Array.from({ length: CRASHES }, (_, seed) => stack.post({ steps: 2, seed })),
  );
  for (const { id } of jobs) {
    expect(await stack.over(id)).toMatchObject({ status: 'failed', error: { code: 'numeric-error' } });
  }
  await worker.logged('worker in quarantine; it claims no jobs');

  const reason = '5 jobs in a row failed, the last one with numeric-error';
  const ready = await ask('/readyz');
  expect([ready.status, await ready.text()]).toEqual([503, `in quarantine: ${reason}\n`]);
  expect(await (await ask('/metrics')).text()).toContain('lehr_worker_quarantined 1\n');
  const queues = async () => (await stack.ask('GET', '/v1/queues')).json();
  await expect.poll(queues, SLOW_MACHINE).toMatchObject({
    quarantined: [{ worker: expect.any(String), reason }],
    models: [{ workers: 0 }],
  });
  const { stdout } = await lehrFor(stack)(['queues']);
  expect(stdout).toMatch(/QUARANTINED +REASON/);
  expect(stdout).toContain(reason);
});
