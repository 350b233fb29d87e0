import { randomBytes } from 'node:crypto';
import { readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { newJobId, newWorkerId } from '../../packages/shared/src/index.ts';
import { type Keys, keysOf, type Redis } from '../../packages/shared/src/redis/index.ts';
import { lehrShell, startLehrCommand } from '../client/lehr-command.ts';
import { blocksOf, readText } from '../house/readme.ts';
import { type Env, installation } from '../support/installation.ts';
import { type LehrProcess, startLehr } from '../support/lehr-process.ts';
import { freePort } from '../support/ports.ts';
import { type Radosgw, startRadosgw } from '../support/radosgw.ts';
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

let s3: Radosgw;
beforeAll(async () => {
  s3 = await startRadosgw();
  await s3.createBucket('backups');
});
afterAll(() => s3.stop());

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
    LEHR_S3_ENDPOINT: s3.endpoint,
    AWS_ACCESS_KEY_ID: s3.credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: s3.credentials.secretAccessKey,
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

test('After a backup to S3 and the loss of Redis, all jobs of the backup are restored and end once', {
  timeout: 240_000,
}, async () => {
  const where = await installed();
  const first = await startRedis();
  const { lehr, key, keyId, ended, running, waiting, slow } = await busyLehr(where, first);
  const keys = keysOf(where.namespace);
  const budget = keys.budget(keyId);
  const before = testRedis(first.url);
  // As after a long job: the record of a budget ends when it has refilled, and those of short jobs do so at once.
  await before.hset(budget, 'used', 300_000);
  await before.pexpire(budget, 3_600_000);
  const spent = await before.hmget(budget, 'used', 'at');
  const BACKUPS = 's3://backups/nightly';
  const stored = await command('backup', where, { BACKUPS, LEHR_REDIS_URL: first.url });
  expect(stored).toMatch(/^\S+ {2}\d+ keys, 5 unfinished jobs, /);
  const late = await lehr.post(key);
  slow.signal('SIGKILL');
  await slow.exited();
  await lehr.kill();
  // With SIGKILL, and without its folder.
  await first.stop();

  const second = await redisServer();
  expect(await command('list', where, { BACKUPS })).toContain(stored.split(' ')[0]);
  const restored = await command('restore', where, { BACKUPS, LEHR_REDIS_URL: second.url });
  expect(restored).toMatch(/ is restored: \d+ keys, 5 unfinished jobs; \d+ keys had expired\n$/);
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

  // An output that has gone since the backup.
  await rm(join(where.home, 'objects'), { recursive: true });
  const { output } = await again.get(ended[0]);
  expect((await fetch(output?.images[0].url ?? '')).status).toBe(404);
});

test('A backup is refused when it is damaged or of another schema, and when Redis is not empty', async () => {
  const where = await installed();
  const redis = await redisServer();
  const admin = testRedis(redis.url);
  const { prefix } = keysOf(where.namespace);
  await admin.mset(`${prefix}:a`, 'x'.repeat(1000), `${prefix}:b`, '1', 'other:c', '1');
  await admin.pexpire(`${prefix}:b`, 3_600_000);
  const backups = await tempFolder('backups');
  const lehr = (args: readonly string[], url = redis.url) =>
    startLehrCommand(args, { env: { ...where.env, LEHR_REDIS_URL: url } }).ended;
  const stored = await lehr(['backup', backups, '--json']);
  const { id, keys: count } = JSON.parse(stored.stdout) as { id: string; keys: number };
  expect(count).toBe(3);

  const refusal = async (url = redis.url) => {
    const { code, stderr } = await lehr(['restore', backups], url);
    expect(code).toBe(65);
    return stderr;
  };
  expect(await refusal()).toContain('is not empty: it has 3 keys');
  expect(await admin.dbsize()).toBe(3);

  const empty = await redisServer();
  const files = await readdir(backups, { recursive: true });
  const fileOf = (name: string): string => {
    const file = files.find((each) => each.endsWith(`${id}/${name},object`));
    if (file === undefined) throw new Error(`no ${name} among ${files.join()}`);
    return join(backups, file);
  };
  const manifest = await readFile(fileOf('manifest.json'), 'utf8');
  await writeFile(fileOf('manifest.json'), manifest.replace('"schema": 1', '"schema": 2'));
  expect(await refusal(empty.url)).toMatch(/has schema 2 .* Restore it with a version of that schema/);
  await writeFile(fileOf('manifest.json'), manifest.replace('"format": 1', '"format": 9'));
  expect(await refusal(empty.url)).toContain('cannot be read by this version of Lehr');
  await writeFile(fileOf('manifest.json'), manifest);
  const part = await readFile(fileOf('part-00000'));
  const damaged = Buffer.from(part);
  damaged[damaged.length - 200] ^= 1;
  await writeFile(fileOf('part-00000'), damaged);
  expect(await refusal(empty.url)).toContain('Nothing was restored');
  await rm(fileOf('part-00000'));
  expect(await refusal(empty.url)).toContain('part-00000 is missing');
  expect(await testRedis(empty.url).dbsize()).toBe(0);

  // Only the keys of this installation come back, with the rest of their lives.
  await writeFile(fileOf('part-00000'), part);
  expect((await lehr(['restore', backups], empty.url)).code).toBe(0);
  const there = testRedis(empty.url);
  expect((await there.keys('*')).sort()).toEqual([`${prefix}:a`, `${prefix}:b`]);
  expect(await there.pttl(`${prefix}:b`)).toBeGreaterThan(0);

  // A damaged manifest does not hide another backup.
  const second = JSON.parse((await lehr(['backup', backups, '--json'])).stdout) as { id: string };
  await writeFile(fileOf('manifest.json'), manifest.replace('"format": 1', '"format": 9'));
  const shown = await lehr(['backup', 'list', backups, '--json']);
  expect(JSON.parse(shown.stdout)).toMatchObject([{ id: second.id }]);
  expect(shown).toMatchObject({ code: 65, stderr: expect.stringContaining(id) });
  expect(await there.pttl(`${prefix}:a`)).toBe(-1);
  expect((await lehr(['backup', 'ftp://x'])).stderr).toContain('neither s3://bucket/prefix nor a folder');
});

test.each([
  {
    what: 'a worker of a newer version reports',
    write: async (redis: Redis, keys: Keys) => {
      const id = newWorkerId('host');
      await redis.sadd(keys.workers, id);
      await redis.set(keys.worker(id), JSON.stringify({ v: 3, lehr: '9.0.0', tasks: {} }));
    },
  },
  {
    what: 'an API process of a newer version reports',
    write: async (redis: Redis, keys: Keys) => {
      await redis.sadd(keys.apiProcesses, 'new');
      await redis.set(keys.apiProcess('new'), JSON.stringify({ v: 3, lehr: '9.0.0' }));
    },
  },
  {
    what: 'a record of a newer version was found',
    write: async (redis: Redis, keys: Keys) => {
      const entry = { at: '2026-11-23T00:00:00.000Z', version: 3, reason: 'input: invalid_union' };
      await redis.hset(keys.unreadable, newJobId(), JSON.stringify(entry));
    },
  },
])(
  'A backup made while $what has the newer schema, and this version refuses to restore it',
  async ({ write }) => {
    const where = await installed();
    const [redis, empty] = [await redisServer(), await redisServer()];
    await write(testRedis(redis.url), keysOf(where.namespace));
    const backups = await tempFolder('backups');
    const lehr = (args: readonly string[], url: string) =>
      startLehrCommand(args, { env: { ...where.env, LEHR_REDIS_URL: url } }).ended;
    expect(JSON.parse((await lehr(['backup', backups, '--json'], redis.url)).stdout)).toMatchObject({
      schema: 3,
    });
    const { code, stderr } = await lehr(['restore', backups], empty.url);
    expect(code).toBe(65);
    expect(stderr).toContain('has schema 3');
    expect(await testRedis(empty.url).dbsize()).toBe(0);
  },
);

test('A copied append-only log brings the jobs back, and a job whose command is cut is gone whole', async () => {
  const where = await installed();
  const first = await startRedis();
  const lehr = await Running.start(where, first.url);
  const ids = [await lehr.post(ROOT_KEY), await lehr.post(ROOT_KEY)];
  const last = await lehr.post(ROOT_KEY);
  const LOG_COPY = await tempFolder('log');
  const env = { LOG_COPY, REDIS_FOLDER: first.folder, LEHR_REDIS_URL: first.url };
  await command('copy-log', where, env);
  expect(await testRedis(first.url).config('GET', 'auto-aof-rewrite-percentage')).toContain('100');
  await lehr.kill();
  await first.stop();

  const NEW_FOLDER = await tempFolder('redis');
  expect(await command('restore-log', where, { LOG_COPY, NEW_FOLDER })).toContain(
    'All AOF files and manifest are valid',
  );
  const folder = join(NEW_FOLDER, 'appendonlydir');
  const log = join(folder, (await readdir(folder)).find((name) => name.includes('.incr.')) ?? '');
  // Redis writes all that a script changes as one transaction.
  const written = await readFile(log);
  await truncate(log, written.indexOf('EXEC', written.lastIndexOf(last)));
  const second = await redisServer(['--dir', NEW_FOLDER]);
  const again = await Running.start(where, second.url);
  await again.worker();
  for (const id of ids) expect(await again.ended(id)).toMatchObject({ status: 'succeeded' });
  expect((await again.ask(`/v1/jobs/${last}`)).status).toBe(404);
});

test('docs/backup.md has no other commands', () => {
  const labels = BLOCKS.filter(({ language }) => language === 'sh').map(({ label }) => label);
  expect(labels).toEqual(['backup', 'list', 'restore', 'copy-log', 'restore-log']);
});
