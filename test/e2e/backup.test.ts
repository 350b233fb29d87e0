import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { Usage } from '../../packages/shared/src/index.ts';
import { keysOf } from '../../packages/shared/src/redis/index.ts';
import { lehrShell } from '../client/lehr-command.ts';
import { blocksOf, ROOT, readText } from '../repo/readme.ts';
import { type Env, installation } from '../support/installation.ts';
import { type LehrProcess, startLehr } from '../support/lehr-process.ts';
import { freePort } from '../support/ports.ts';
import { startRedis, type TestRedis, testRedis } from '../support/redis.ts';
import { startSimulatedWorker } from '../support/start-simulated-worker.ts';
import { SLOW_MACHINE } from '../support/timeouts.ts';
import { tempFolder, tinyModels } from '../support/tiny-models.ts';

const BLOCKS = blocksOf(readText('docs/backup.md'));
const ROOT_KEY = `lehr_test_${randomBytes(24).toString('hex')}`;
/** With MANY_STEPS, a picture takes longer than the test. Another one joins after a step. */
const SLOW = { stepBaseMs: 1000, stepPerRowMs: 0, pictureMs: 1, textMs: 1 };
const MANY_STEPS = 500;
/** Of 20 s each, for a job to end. */
const MAX_WAITS = 3;
const SHORT_LEASE = { leaseMs: 2000, stalledCheckMs: 500, times: { renewEveryMs: 500, janitorEveryMs: 500 } };

/** Otherwise Redis waits five seconds before a dump, for more replicas. */
const AT_ONCE = ['--repl-diskless-sync-delay', '0'];

interface Installed {
  readonly env: Env;
  readonly home: string;
  readonly namespace: string;
}

interface Job {
  readonly id: string;
  readonly status: string;
  readonly attempts?: number;
  readonly output?: { readonly images: readonly { readonly url: string }[] };
}

/** Settings of one installation, whose Redis can be replaced. */
async function installed(): Promise<Installed> {
  const env = await installation('redis://127.0.0.1:1', {
    LEHR_MODELS: await tinyModels(),
    LEHR_API_KEY: ROOT_KEY,
    LEHR_PORT: `${await freePort()}`,
    LEHR_STORE_SECRET: 'x'.repeat(32),
  });
  return { env, home: env.LEHR_HOME, namespace: env.LEHR_NAMESPACE };
}

async function redisServer(extra: readonly string[] = []): Promise<TestRedis> {
  const server = await startRedis(extra);
  onTestFinished(() => server.stop());
  return server;
}

const ask = (port: string, path: string, body?: object, key = ROOT_KEY): Promise<Response> =>
  fetch(`http://127.0.0.1:${port}${path}`, {
    method: body ? 'POST' : 'GET',
    headers: { authorization: `Bearer ${key}`, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });

class Running {
  readonly #api: LehrProcess;
  readonly #where: Installed;
  readonly #redisUrl: string;

  private constructor(api: LehrProcess, where: Installed, redisUrl: string) {
    this.#api = api;
    this.#where = where;
    this.#redisUrl = redisUrl;
  }

  static async start(where: Installed, redisUrl: string): Promise<Running> {
    const api = startLehr('api', { ...where.env, LEHR_REDIS_URL: redisUrl });
    await api.logged('API is listening');
    return new Running(api, where, redisUrl);
  }

  ask(path: string, body?: object, key?: string): Promise<Response> {
    return ask(this.#where.env.LEHR_PORT, path, body, key);
  }

  async post(key: string, steps = 4): Promise<string> {
    const response = await this.ask(
      '/v1/jobs',
      { type: 'text-to-image', input: { prompt: 'a red circle', steps } },
      key,
    );
    expect(response.status).toBe(202);
    return ((await response.json()) as Job).id;
  }

  async get(id: string, wait = 0): Promise<Job> {
    const response = await this.ask(`/v1/jobs/${id}?wait=${wait}`);
    expect(response.status).toBe(200);
    return (await response.json()) as Job;
  }

  async ended(id: string): Promise<Job> {
    for (let waits = 0; waits < MAX_WAITS; waits++) {
      const job = await this.get(id, 20);
      if (!['queued', 'running'].includes(job.status)) return job;
    }
    throw new Error(`the job did not end: ${JSON.stringify(await this.get(id))}`);
  }

  worker(settings: Partial<Parameters<typeof startSimulatedWorker>[0]> = {}): Promise<LehrProcess> {
    const { namespace, home, env } = this.#where;
    const place = { redisUrl: this.#redisUrl, namespace, home, modelsFile: env.LEHR_MODELS };
    return startSimulatedWorker({ ...place, ...SHORT_LEASE, ...settings });
  }

  async kill(): Promise<void> {
    this.#api.signal('SIGKILL');
    await this.#api.exited();
  }
}

/** Runs a command of the page as it is written. */
async function command(label: string, where: Installed, more: Env): Promise<string> {
  const [block, another] = BLOCKS.filter((each) => each.language === 'sh' && each.label === label);
  if (!block || another) throw new Error(`docs/backup.md needs exactly one block "sh ${label}"`);
  const { run } = await lehrShell(where.env);
  return run(block.text, more);
}

/** Jobs of one key in every state: ended, running and waiting. The worker of the running ones is killed. */
async function busyLehr(where: Installed, redis: TestRedis) {
  const lehr = await Running.start(where, redis.url);
  const made = await lehr.ask('/v1/keys', {
    tenant: 'default',
    name: 'caller',
    limits: { cost_per_minute_s: 600 },
  });
  const { key, id: keyId } = (await made.json()) as { key: string; id: string };
  const ended = [await lehr.post(key), await lehr.post(key)];
  const quick = await lehr.worker();
  for (const id of ended) expect(await lehr.ended(id)).toMatchObject({ status: 'succeeded' });
  await quick.stop();
  const running = [await lehr.post(key, MANY_STEPS), await lehr.post(key, MANY_STEPS)];
  // With guidance, a picture takes two rows.
  const slow = await lehr.worker({ latency: SLOW, rowCap: 4 });
  await vi.waitFor(async () => {
    for (const id of running) expect(await lehr.get(id)).toMatchObject({ status: 'running' });
  }, SLOW_MACHINE);
  // Not short: the full lane would take a short job.
  const post = () => lehr.post(key, MANY_STEPS);
  const waiting = [await post(), await post(), await post()];
  return { lehr, key, keyId, ended, running, waiting, slow };
}

/** As the page says it: the password is in the environment. */
const operatorOf = ({ url, port }: TestRedis): Env => ({
  REDIS_HOST: '127.0.0.1',
  REDIS_PORT: `${port}`,
  REDISCLI_AUTH: decodeURIComponent(new URL(url).password),
});

/** The only file in the folder. */
async function onlyFile(folder: string): Promise<string> {
  const names = await readdir(folder);
  expect(names).toEqual([expect.stringMatching(/^lehr-\d{4}-\d\d-\d\dT\d{6}Z\.rdb$/)]);
  return join(folder, names[0]);
}

test('After the loss of Redis, an empty one that starts with the dump has keys and jobs, and all jobs end once', {
  tags: ['long'],
}, async () => {
  const where = await installed();
  const first = await startRedis(AT_ONCE);
  const { lehr, key, keyId, ended, running, waiting, slow } = await busyLehr(where, first);
  const keys = keysOf(where.namespace);
  const budget = keys.budget(keyId);
  const before = testRedis(first.url);
  // As after a long job: the record of a budget ends when it has refilled, and those of short jobs do so at once.
  await before.hset(budget, 'used', 300_000);
  await before.pexpire(budget, 3_600_000);
  const spent = await before.hmget(budget, 'used', 'at');
  const BACKUPS = await tempFolder('backups');
  expect(await command('backup', where, { ...operatorOf(first), BACKUPS })).toContain('Checksum OK');
  const DUMP = await onlyFile(BACKUPS);
  expect((await stat(DUMP)).mode & 0o777).toBe(0o600);
  const late = await lehr.post(key);
  slow.signal('SIGKILL');
  await slow.exited();
  await lehr.kill();
  // With SIGKILL, and without its folder.
  await first.stop();

  const REDIS_FOLDER = await tempFolder('redis');
  await command('restore', where, { DUMP, REDIS_FOLDER });
  const second = await redisServer(['--dir', REDIS_FOLDER]);
  expect(Number(await command('restored', where, operatorOf(second)))).toBeGreaterThan(10);
  const redis = testRedis(second.url);
  expect(await redis.hmget(budget, 'used', 'at')).toEqual(spent);

  const again = await Running.start(where, second.url);
  expect((await again.ask(`/v1/jobs/${late}`)).status).toBe(404);
  for (const id of ended) {
    const { status, output } = await again.get(id);
    expect(status).toBe('succeeded');
    const picture = await fetch(output?.images[0].url ?? '');
    expect(
      Buffer.from(await picture.arrayBuffer())
        .subarray(1, 4)
        .toString(),
    ).toBe('PNG');
  }
  await again.worker();
  for (const id of [...running, ...waiting]) {
    expect(await again.ended(id)).toMatchObject({ status: 'succeeded' });
    const events = await redis.lrange(keys.events(id as never), 0, -1);
    expect(events.filter((event) => event.includes('succeeded'))).toHaveLength(1);
  }
  expect(await redis.zcard(keys.live)).toBe(0);
  expect(await redis.hmget(budget, 'used', 'at')).toEqual(spent);
  // Those that ended before the dump, and each of the others once, although a worker was killed while it ran some.
  const usage = await (await again.ask('/v1/usage?by=key')).json();
  const succeeded = ended.length + running.length + waiting.length;
  expect((usage as Usage).rows).toMatchObject([{ key: keyId, jobs: succeeded, succeeded }]);
  const after = await again.post(key);
  expect(await again.ended(after)).toMatchObject({ status: 'succeeded' });

  // The log goes on where the dump ends.
  await second.restart();
  await vi.waitFor(async () => {
    for (const id of [...ended, ...waiting, after])
      expect(await again.get(id)).toMatchObject({ status: 'succeeded' });
  }, SLOW_MACHINE);

  // An output that has gone since the backup.
  await rm(join(where.home, 'objects'), { recursive: true });
  const { output } = await again.get(ended[0]);
  expect((await fetch(output?.images[0].url ?? '')).status).toBe(404);
});

test('A damaged dump is refused before it is copied, and Redis does not start with it', async () => {
  const where = await installed();
  const redis = await redisServer(AT_ONCE);
  await testRedis(redis.url).set('key', 'x'.repeat(1000));
  const BACKUPS = await tempFolder('backups');
  await command('backup', where, { ...operatorOf(redis), BACKUPS });
  const DUMP = await onlyFile(BACKUPS);
  const damaged = await readFile(DUMP);
  damaged[damaged.length - 20] ^= 1;
  await writeFile(DUMP, damaged);
  const REDIS_FOLDER = await tempFolder('redis');
  await expect(command('restore', where, { DUMP, REDIS_FOLDER })).rejects.toMatchObject({ code: 1 });
  expect(await readdir(REDIS_FOLDER)).toEqual([]);
  await writeFile(join(REDIS_FOLDER, 'appendonly.aof'), damaged);
  const config = join(ROOT, 'infra/redis.conf');
  const args = [config, '--port', `${await freePort()}`, '--dir', REDIS_FOLDER];
  const started = promisify(execFile)('redis-server', args);
  await expect(started).rejects.toMatchObject({
    code: 1,
    stdout: expect.stringContaining('Reading RDB preamble'),
  });
});

test('A user who may send SYNC and REPLCONF only can make a dump', async () => {
  const where = await installed();
  const redis = await redisServer(AT_ONCE);
  const [rules] = /user backup [^`]*/.exec(readText('docs/backup.md')) ?? [];
  const [, , on, , ...rights] = rules?.split(' ').filter((word) => !/^(of|its|password>)$/.test(word)) ?? [];
  expect(rights).toEqual(['-@all', '+sync', '+replconf']);
  await testRedis(redis.url).call('ACL', 'SETUSER', 'backup', on, '>secret', ...rights);
  const BACKUPS = await tempFolder('backups');
  const dump = ['-p', `${redis.port}`, '--user', 'backup', '--rdb', join(BACKUPS, 'lehr.rdb')];
  await promisify(execFile)('redis-cli', dump, { env: { ...where.env, REDISCLI_AUTH: 'secret' } });
  expect(await readdir(BACKUPS)).toEqual(['lehr.rdb']);
});

test('A copied append-only log brings the jobs back, and a job whose command is cut is gone whole', {
  tags: ['long'],
}, async () => {
  const where = await installed();
  const first = await startRedis();
  const lehr = await Running.start(where, first.url);
  const ids = [await lehr.post(ROOT_KEY), await lehr.post(ROOT_KEY)];
  const last = await lehr.post(ROOT_KEY);
  const LOG_COPY = await tempFolder('log');
  const env = { ...operatorOf(first), LOG_COPY, REDIS_FOLDER: first.folder };
  await command('copy-log', where, env);
  expect(await testRedis(first.url).config('GET', 'auto-aof-rewrite-percentage')).toContain('100');
  await lehr.kill();
  await first.stop();

  const REDIS_FOLDER = await tempFolder('redis');
  expect(await command('restore-log', where, { LOG_COPY, REDIS_FOLDER })).toContain(
    'All AOF files and manifest are valid',
  );
  const folder = join(REDIS_FOLDER, 'appendonlydir');
  const log = join(folder, (await readdir(folder)).find((name) => name.includes('.incr.')) ?? '');
  // Redis writes all that a script changes as one transaction.
  const written = await readFile(log);
  await truncate(log, written.indexOf('EXEC', written.lastIndexOf(last)));
  const second = await redisServer(['--dir', REDIS_FOLDER]);
  const again = await Running.start(where, second.url);
  await again.worker();
  for (const id of ids) expect(await again.ended(id)).toMatchObject({ status: 'succeeded' });
  expect((await again.ask(`/v1/jobs/${last}`)).status).toBe(404);
});

test('docs/backup.md has no other commands but the one for upgrades', () => {
  const labels = BLOCKS.filter(({ language }) => language === 'sh').map(({ label }) => label);
  expect(labels).toEqual(['backup', 'restore', 'restored', 'copy-log', 'restore-log', 'plan']);
});
