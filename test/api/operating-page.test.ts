/** docs/operating.md is correct: its commands run in their order, and its tables agree with the code. */
import { execFile, execFileSync } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { listen } from '../../apps/api/src/http/listen.ts';
import { ENV } from '../../packages/shared/src/config/env.ts';
import {
  AUDIT_ACTIONS,
  type AuditEntry,
  DEFAULT_LIMITS,
  ERROR_CODES,
  METRICS,
  SCOPES,
} from '../../packages/shared/src/index.ts';
import { keysOf } from '../../packages/shared/src/redis/index.ts';
import { blocksOf, readText } from '../repo/readme.ts';
import { API_KEY, type ApiWorld, apiWorld } from '../support/api-world.ts';
import { startRedis, type TestRedis, testRedis } from '../support/redis.ts';

const TEXT = readText('docs/operating.md');
const BLOCKS = blocksOf(TEXT);

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const hasRedisCli = (() => {
  try {
    execFileSync('redis-cli', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();

async function served(): Promise<{ world: ApiWorld; url: string }> {
  const world = await apiWorld(server.url);
  const listener = await listen('127.0.0.1', 0);
  onTestFinished(() => listener.close(0));
  listener.serve(world.app.fetch);
  return { world, url: `http://127.0.0.1:${listener.port}` };
}

/** Runs the block with this label unchanged and returns its output. */
async function run(label: string, env: Readonly<Record<string, string>>): Promise<string> {
  const [block, another] = BLOCKS.filter((each) => each.language === 'sh' && each.label === label);
  if (!block || another) throw new Error(`docs/operating.md wants one block "sh ${label}"`);
  const options = { env: { PATH: process.env.PATH, LEHR_API_KEY: API_KEY, ...env } };
  const { stdout } = await promisify(execFile)('sh', ['-eu', '-c', block.text], options);
  return stdout;
}

test('The commands of docs/operating.md run in their order', async () => {
  const { world, url: LEHR_URL } = await served();
  const json = async (label: string, env = {}) => JSON.parse(await run(label, { LEHR_URL, ...env }));
  const made = await json('key');
  expect(made).toMatchObject({ tenant: 'acme', limits: { max_jobs: 500, cost_per_minute_s: 600 } });
  expect(made.key).toMatch(new RegExp(`^${made.prefix}_`));
  const KEY_ID: string = made.id;
  expect((await json('keys')).data).toMatchObject([{ id: KEY_ID, name: 'render farm' }]);
  expect((await json('limits', { KEY_ID })).limits).toEqual({
    ...DEFAULT_LIMITS,
    max_jobs: 500,
    cost_per_minute_s: 600,
    max_queued: 100,
    requests_per_minute: 600,
    weight: 2,
  });
  expect(await run('revoke', { LEHR_URL, KEY_ID })).toBe('204\n');
  expect((await json('keys')).data).toEqual([]);
  expect((await json('audit')).data.map(({ action }: AuditEntry) => action)).toEqual([
    'key.revoked',
    'key.changed',
    'key.created',
  ]);
  const job = await json('once');
  expect((await json('once')).id).toBe(job.id);
  // A worker's report is valid for ten seconds.
  await world.worker.report();
  const { data, models } = await json('queues');
  expect(data).toMatchObject([{ waiting: 1, breaker: 'closed' }]);
  expect(models).toContainEqual(
    expect.objectContaining({ model: 'tiny@1', workers: 1, breaker: 'closed', problem: null }),
  );
  await world.worker.report();
  expect(await json('ready')).toEqual({ status: 'ready', workers: 1 });
  await world.worker.fail(await world.worker.take());
  expect((await json('failed')).data).toMatchObject([{ id: job.id, error: { title: 'Bad numbers' } }]);
  const metrics = await run('metrics', { LEHR_URL });
  for (const name of ['lehr_queue_jobs', 'lehr_workers', 'lehr_redis_up 1']) expect(metrics).toContain(name);
});

test.skipIf(!hasRedisCli)('The Redis command of docs/operating.md shows memory and policy', async () => {
  const output = await run('memory', { LEHR_REDIS_URL: server.url });
  expect(output).toMatch(/^used_memory:\d+\r?\nmaxmemory:\d+\r?\nmaxmemory_policy:noeviction\r?\n$/);
});

test.skipIf(!hasRedisCli)('The Redis command of docs/operating.md works with a password', async () => {
  const locked = await startRedis();
  onTestFinished(() => locked.stop());
  await testRedis(locked.url).call('ACL', 'SETUSER', 'default', 'on', '>secret');
  const url = new URL(locked.url);
  url.username = 'default';
  url.password = 'secret';
  expect(await run('memory', { LEHR_REDIS_URL: url.href })).toContain('maxmemory_policy:noeviction');
});

test.skipIf(!hasRedisCli)(
  'The command of docs/operating.md lets Redis forget the id of the store',
  async () => {
    await testRedis(server.url).set(keysOf('lehr').storeId, 'an-id the folder of before');
    expect(await run('other-store', { LEHR_REDIS_URL: server.url })).toBe('1\n');
  },
);

test('docs/operating.md has no other commands', () => {
  const labels = BLOCKS.filter(({ language }) => language === 'sh').map(({ label }) => label);
  const known = ['key', 'keys', 'revoke', 'audit', 'limits', 'queues', 'once'];
  // test/api/secret-rotation.test.ts runs the four after the first one, test/api/dropped-log.test.ts the last.
  known.push(
    'other-store',
    'lost-pepper',
    'lost-secret-key',
    'add-redis-password',
    'remove-redis-password',
    'ready',
    'memory',
    'failed',
    'metrics',
    'keep-log',
  );
  expect(labels).toEqual(known);
});

/** Rows of all tables, cell by cell. */
const ROWS = TEXT.split('\n')
  .filter((line) => line.startsWith('| '))
  .map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );

test('The tables of docs/operating.md agree with the code', () => {
  const cell = (name: string): string[] => ROWS.find((row) => row.includes(`\`${name}\``)) ?? [];
  for (const scope of SCOPES) expect(cell(scope)[0]).toBe(`\`${scope}\``);
  for (const [limit, value] of Object.entries(DEFAULT_LIMITS)) {
    expect(cell(limit)[1], limit).toBe(value === null ? 'none' : String(value));
  }
  for (const action of AUDIT_ACTIONS) expect(TEXT).toContain(`\`${action}\``);
  const refusals = ROWS.filter(([status]) => /^\d{3}$/.test(status));
  expect(refusals.length).toBeGreaterThan(8);
  for (const [status, code] of refusals) {
    const facts = ERROR_CODES[code.replaceAll('`', '') as keyof typeof ERROR_CODES];
    expect([code, facts?.status]).toEqual([code, Number(status)]);
  }
});

test('docs/operating.md names only variables and metrics that exist', () => {
  const known = new Set([...Object.keys(ENV), 'LEHR_URL']);
  for (const [name] of TEXT.matchAll(/\bLEHR_[A-Z_]+\b/g)) expect(known).toContain(name);
  const metrics = Object.values(METRICS).map(({ name }) => name as string);
  for (const [name] of TEXT.matchAll(/\blehr_(?!queue_jobs\|)[a-z_]+(?=[`{])/g)) {
    expect(metrics).toContain(name);
  }
});
