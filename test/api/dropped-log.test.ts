/** A Redis that has loaded only a part of its log is found by every program, and its data can be brought back. */
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { checkRedis } from '../../apps/worker/src/programs/doctor/redis-checks.ts';
import { blocksOf, readText } from '../repo/readme.ts';
import { apiWorld, problemOf } from '../support/api-world.ts';
import { installation } from '../support/installation.ts';
import { startLehr } from '../support/lehr-process.ts';
import { startRedis, type TestRedis, testRedis } from '../support/redis.ts';
import { asUser } from '../support/redis-server.ts';

const ADVICE = 'write "user default off ~* &* +@all" into its ACL file and restart it';

test('A Redis that dropped a part of its log is refused and reported, and what docs/operating.md says brings all of it back', async () => {
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  const world = await apiWorld(redis.url);
  const { id } = await world.post();
  const readyz = () => world.ask('GET', '/readyz');
  const users = join(redis.folder, 'template.acl');
  const shipped = await readFile(users, 'utf8');
  // The line of an earlier users.acl.
  await writeFile(users, shipped.replace('user default off ~* &* +@all', 'user default off'));
  await redis.restart();

  const detail = 'Not ready: redis has dropped a part of its log.';
  await expect.poll(async () => problemOf(await readyz())).toMatchObject({ status: 503, detail });
  expect((await world.ask('GET', `/v1/jobs/${id}`)).status).toBe(404);
  expect(await (await world.ask('GET', '/metrics')).text()).toMatch(/^lehr_redis_dropped_commands [1-9]/m);
  expect(await doctorOf(redis)).toMatchObject({ state: 'fail', advice: expect.stringContaining(ADVICE) });
  await expectRefused(redis);

  const block = blocksOf(readText('docs/operating.md')).find(({ label }) => label === 'keep-log');
  const env = { PATH: process.env.PATH, LEHR_REDIS_URL: redis.url };
  expect((await promisify(execFile)('sh', ['-euc', block?.text ?? 'false'], { env })).stdout).toBe('OK\n');
  await writeFile(users, shipped);
  await redis.restart();
  await expect.poll(async () => (await readyz()).status).toBe(200);
  expect((await world.get(id)).status).toBe('queued');
  expect(await doctorOf(redis)).toMatchObject({ state: 'ok' });
});

async function expectRefused(redis: TestRedis): Promise<void> {
  const env = await installation(redis.url, { LEHR_WORKER_PORT: '0', LEHR_DEVICE: 'cpu' });
  for (const program of ['api', 'worker'] as const) {
    const started = startLehr(program, env);
    expect(await started.exited(), program).toBe(69);
    expect(JSON.stringify(started.lines), program).toContain(JSON.stringify(ADVICE).slice(1, -1));
  }
}

async function doctorOf({ url }: TestRedis) {
  for await (const check of checkRedis(testRedis(asUser(url, 'worker')), 'here'))
    if (check.name === 'Redis log') return check;
  return undefined;
}
