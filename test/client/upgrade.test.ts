import { afterAll, beforeAll, expect, test } from 'vitest';
import { newWorkerId, OWN_VERSION } from '../../packages/shared/src/index.ts';
import { keysOf } from '../../packages/shared/src/redis/index.ts';
import { blocksOf, readText } from '../repo/readme.ts';
import { installation } from '../support/installation.ts';
import { startLehr } from '../support/lehr-process.ts';
import { startRedis, type TestRedis, testRedis } from '../support/redis.ts';
import { lehrShell, startLehrCommand } from './lehr-command.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

test('lehr doctor --upgrade says which versions run, in which order to replace them, and when that is not safe', {
  tags: ['long'],
}, async () => {
  const env = await installation(server.url);
  const redis = testRedis(server.url);
  const keys = keysOf(env.LEHR_NAMESPACE);
  const api = startLehr('api', env);
  await api.logged('API is listening');
  const report = async (versions: object): Promise<void> => {
    const id = newWorkerId('other');
    await redis.set(keys.worker(id), JSON.stringify(versions), 'PX', 60_000);
    await redis.sadd(keys.workers, id);
  };
  const ask = () => startLehrCommand(['doctor', '--upgrade'], { env }).ended;
  await expect.poll(async () => (await ask()).stdout).toContain('every process has this version');

  // A worker of an earlier version of the same schema; what else it reports has a form that is unknown here.
  await report({ v: 1, lehr: '0.0.9', lanes: 'unknown' });
  const { code, stdout } = await ask();
  expect(code).toBe(0);
  expect(stdout).toContain(`1 of ${OWN_VERSION} (schema 1)`);
  expect(stdout).toContain('1 of 0.0.9 (schema 1)');
  expect(stdout).toMatch(/^ok {4}upgrade .* in any order, also back$/m);

  // An API process whose report cannot be read is not taken for none.
  await redis.set(keys.apiProcess('api-other'), 'other', 'PX', 60_000);
  await redis.sadd(keys.apiProcesses, 'api-other');
  const unknown = await ask();
  expect(unknown).toMatchObject({ code: 5, stdout: expect.stringContaining('unknown schema runs') });
  await redis.del(keys.apiProcess('api-other'));

  await redis.hset(keys.unreadable, 'job_1', JSON.stringify({ at: '', reason: '' }));
  await report({ v: 2, lehr: '9.0.0' });
  const refused = await ask();
  expect(refused.code).toBe(5);
  expect(refused.stdout).toMatch(/^fail {2}upgrade .*a process with a newer or unknown schema runs$/m);
  expect(refused.stdout).toMatch(/^warn {2}unreadable /m);

  await api.stop();
  expect(await redis.smembers(keys.apiProcesses)).toEqual([]);
});

test('The command for upgrades in docs/backup.md runs', async () => {
  const blocks = blocksOf(readText('docs/backup.md')).filter(({ label }) => label === 'plan');
  expect(blocks).toHaveLength(1);
  const { run } = await lehrShell(await installation(server.url));
  expect(await run(blocks[0].text)).toContain('nothing runs');
});
