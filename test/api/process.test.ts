import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { keysOf } from '../../packages/shared/src/redis/index.ts';
import { shared } from '../support/cleanup.ts';
import { type Env, installation } from '../support/installation.ts';
import { type LehrProcess, startLehr } from '../support/lehr-process.ts';
import { UNREACHABLE_URL } from '../support/ports.ts';
import { startRedis, type TestRedis, testRedis } from '../support/redis.ts';
import { tempFolder } from '../support/tiny-models.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

async function started(env: Env): Promise<{ api: LehrProcess; url: string; key: string }> {
  const api = startLehr('api', env);
  const { url } = await api.logged('API is listening');
  const key = env.LEHR_API_KEY ?? (await readFile(join(env.LEHR_HOME, 'api-key'), 'utf8')).trim();
  return { api, url: String(url), key };
}

/** The exit code and the output of a process that could not start. */
async function refused(env: Env): Promise<{ code: unknown; said: string }> {
  const api = startLehr('api', env);
  const code = await api.exited();
  return { code, said: api.lines.map(({ msg }) => msg).join('\n') };
}

/** The first start of an installation. */
const first = shared(async () => {
  const env = await installation(server.url);
  return { env, ...(await started(env)) };
});

describe('start', () => {
  test('The first start creates an API key that only its owner can read, and the API accepts it', async () => {
    const { env, api, url, key } = first;
    expect((await stat(join(env.LEHR_HOME, 'api-key'))).mode & 0o777).toBe(0o600);
    expect((await stat(join(env.LEHR_HOME, 'store-secret'))).mode & 0o777).toBe(0o600);
    expect(key).toMatch(/^lehr_local_[A-Za-z0-9]{8}_[A-Za-z0-9]{43}$/);
    const headers = { authorization: `Bearer ${key}` };
    expect((await fetch(`${url}/v1/jobs`, { headers })).status).toBe(200);
    expect((await fetch(`${url}/v1/jobs`)).status).toBe(401);
    expect(JSON.stringify(api.lines)).not.toContain(key);
  });

  test('Two processes that start at the same time share one key', async () => {
    const env = await installation(server.url);
    const both = await Promise.all([started(env), started(env)]);
    expect(both[0].key).toBe(both[1].key);
    for (const { url, key } of both) {
      expect((await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${key}` } })).status).toBe(
        200,
      );
    }
  });

  test('Fractions of an hour and of a day are accepted as times to keep something', async () => {
    const fractions = { LEHR_OUTPUT_TTL_H: '2.2', LEHR_RECORD_TTL_H: '1.1', LEHR_AUDIT_DAYS: '0.37' };
    const { url, key } = await started(await installation(server.url, fractions));
    const headers = { authorization: `Bearer ${key}` };
    const body = new FormData();
    body.append('content', new Blob(['bytes']), 'a.wav');
    expect((await fetch(`${url}/v1/files`, { method: 'POST', headers, body })).status).toBe(201);
    const job = { type: 'text-to-image', input: { prompt: 'a red circle' } };
    const json = { ...headers, 'content-type': 'application/json' };
    const posted = await fetch(`${url}/v1/jobs`, {
      method: 'POST',
      headers: json,
      body: JSON.stringify(job),
    });
    const { id } = (await posted.json()) as { id: string };
    const canceled = await fetch(`${url}/v1/jobs/${id}/cancel`, { method: 'POST', headers });
    expect(await canceled.json()).toMatchObject({ status: 'canceled' });
    expect((await fetch(`${url}/v1/audit`, { headers })).status).toBe(200);
  });

  test('Links start with the public URL of the process', async () => {
    expect((await fetch(`${first.url}/readyz`)).status).toBe(200);
    const env = await installation(server.url, { LEHR_PUBLIC_URL: 'https://lehr.example/api/' });
    const { key, api } = await started(env);
    const { port } = await api.logged('API is listening');
    const response = await fetch(`http://127.0.0.1:${port}/v1/jobs`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ type: 'text-to-image', input: { prompt: 'x' } }),
    });
    const { links } = (await response.json()) as { links: { self: string } };
    expect(links.self).toMatch(/^https:\/\/lehr\.example\/api\/v1\/jobs\/job_/);
  });

  test.each(['SIGTERM', 'SIGINT'] as const)(
    'On %s a process answers held requests and exits with 0',
    async (signal) => {
      const { api, url, key } = await started(await installation(server.url));
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
      const body = JSON.stringify({ type: 'text-to-image', input: { prompt: 'x' } });
      const held = fetch(`${url}/v1/jobs?wait=60`, { method: 'POST', headers, body });
      await expect
        .poll(async () => (await fetch(`${url}/metrics`)).text())
        .toContain('lehr_held_requests 1\n');
      api.signal(signal);
      const response = await held;
      expect(response.status).toBe(202);
      expect(await response.json()).toMatchObject({ status: 'queued' });
      expect(await api.exited()).toBe(0);
      await api.logged('stopped');
    },
  );
});

describe('start that fails', () => {
  test('A process does not start on a public address without a configured key', async () => {
    const { code, said } = await refused(await installation(server.url, { LEHR_HOST: '0.0.0.0' }));
    expect(code).toBe(78);
    expect(said).toContain('LEHR_HOST is "0.0.0.0", which others can reach: set LEHR_API_KEY');
  });

  test('A process that cannot start names every fault of its configuration and shows no secret', async () => {
    const { code, said } = await refused({
      ...(await installation(server.url)),
      LEHR_PORT: 'eighty',
      LEHR_S3_BUCKET: 'x',
      LEHR_API_KEY: 'hunter2',
    });
    expect(code).toBe(78);
    for (const name of ['LEHR_PORT', 'LEHR_S3_BUCKET', 'LEHR_API_KEY']) expect(said).toContain(name);
    expect(said).not.toContain('hunter2');
  });

  test('A process does not start with a models file that is invalid or missing', async () => {
    const env = await installation(server.url);
    await writeFile(env.LEHR_MODELS, 'models: [{ name: Tiny, task: diffusion }]');
    const broken = await refused(env);
    expect(broken.code).toBe(78);
    expect(broken.said).toMatch(/models\.0\.name/);
    const missing = await refused({ ...env, LEHR_MODELS: '/nowhere.yaml' });
    expect(missing).toMatchObject({ code: 78, said: expect.stringContaining('/nowhere.yaml') });
  });

  test('A process does not start on a port that is in use', async () => {
    const { port } = await first.api.logged('API is listening');
    const { code, said } = await refused(await installation(server.url, { LEHR_PORT: String(port) }));
    expect(code).toBe(69);
    expect(said).toBe(
      `lehr api: Cannot listen on 127.0.0.1 port ${port}: it is taken. Stop what runs there or set LEHR_PORT.`,
    );
  });

  test('A process does not start with a Redis that evicts keys', async () => {
    const forgetful = await startRedis(['--maxmemory-policy', 'allkeys-lru']);
    onTestFinished(() => forgetful.stop());
    const { code, said } = await refused(await installation(server.url, { LEHR_REDIS_URL: forgetful.url }));
    expect(code).toBe(69);
    expect(said).toContain('Lehr needs noeviction');
  });

  test('A process does not start without a Redis, and does not show its password', async () => {
    const { host } = new URL(UNREACHABLE_URL);
    const env = { ...(await installation(server.url)), LEHR_REDIS_URL: `redis://:hunter2@${host}` };
    const { code, said } = await refused(env);
    expect(code).toBe(69);
    expect(said).toBe(`lehr api: Redis does not answer at ${host}`);
  });

  test('A worker and an API with another folder than the running API do not start, and name both folders', {
    tags: ['long'],
  }, async () => {
    const secret = 'a secret of thirty-two characters or more';
    const env = await installation(server.url, { LEHR_KEY_PEPPER: secret, LEHR_SECRET_KEY: secret });
    const { api, url } = await started(env);
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
    const other = { ...env, LEHR_HOME: await tempFolder('other-home') };
    for (const program of ['worker', 'api'] as const) {
      const process = startLehr(program, { ...other, LEHR_WORKER_PORT: '0', LEHR_DEVICE: 'cpu' });
      expect(await process.exited()).toBe(78);
      const said = process.lines.map(({ msg }) => msg).join('\n');
      for (const home of [env.LEHR_HOME, other.LEHR_HOME]) expect(said).toContain(join(home, 'objects'));
      expect(said).toContain('LEHR_S3_BUCKET');
    }
    await api.stop();
    await (await started(env)).api.stop();
  });

  test('An API whose folder was emptied while it ran is not ready, and does not start again', {
    tags: ['long'],
  }, async () => {
    const env = await installation(server.url);
    const { api, url } = await started(env);
    await rm(join(env.LEHR_HOME, 'objects/lehr-store'), { recursive: true });
    await expect
      .poll(async () => (await (await fetch(`${url}/readyz`)).json()) as unknown)
      .toMatchObject({
        status: 503,
        errors: [{ pointer: '/store', detail: 'is not the one of this installation' }],
      });
    await api.stop();
    const { code, said } = await refused(env);
    expect(code).toBe(78);
    expect(said).toContain('docs/operating.md');
    await testRedis(server.url).del(keysOf(env.LEHR_NAMESPACE).storeId);
    expect((await fetch(`${(await started(env)).url}/readyz`)).status).toBe(200);
  });
});
