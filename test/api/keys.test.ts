import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { anyOf } from '../../apps/api/src/access/auth/authenticator.ts';
import { KeyStore } from '../../apps/api/src/access/auth/key-store.ts';
import { StoredKeys } from '../../apps/api/src/access/auth/stored-keys.ts';
import {
  ApiKeyListSchema,
  ApiKeySchema,
  type Clock,
  DEFAULT_LIMITS,
  KeyRequestSchema,
  silentLog,
  systemClock,
} from '../../packages/shared/src/index.ts';
import { API_KEY, apiWorld, KEY_PEPPER, problemOf } from '../support/api-world.ts';
import { asking, keyHolder } from '../support/key-holder.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const circle = { type: 'text-to-image', input: { prompt: 'a red circle' } };

describe('API key', () => {
  test('A key is shown once, when it is created, and is not stored in Redis', async () => {
    const world = await apiWorld(server.url);
    const { key } = await keyHolder(world, 'acme', { name: 'render farm', env: 'test' });
    expect(key.key).toMatch(/^lehr_test_[A-Za-z0-9]{8}_[A-Za-z0-9]{43}$/);
    expect(key).toMatchObject({
      tenant: 'acme',
      name: 'render farm',
      prefix: key.key.slice(0, 18),
      scopes: ['submit', 'read', 'cancel'],
      limits: DEFAULT_LIMITS,
      expires_at: null,
      last_used_at: null,
    });
    const { key: secret, ...shown } = key;
    const list = ApiKeyListSchema.parse(await (await world.ask('GET', '/v1/keys')).json());
    expect(list.data).toEqual([shown]);
    const stored = await world.parts.redis.hgetall(world.parts.keys.apiKey(key.id));
    expect(JSON.stringify(stored)).not.toContain(secret.split('_')[3]);
    expect(stored.digest).toMatch(/^[A-Za-z0-9_-]{43}$/);
  });

  test('A key works for its own tenant, and not with another secret or another pepper', async () => {
    const world = await apiWorld(server.url);
    const { key, ask } = await keyHolder(world, 'acme');
    const posted = await ask('POST', '/v1/jobs', circle);
    const { id } = (await posted.json()) as { id: string };
    expect((await world.parts.records.read(id as never))?.tenant).toBe('acme');
    expect((await world.ask('GET', `/v1/jobs/${id}`)).status).toBe(404);
    const last = key.key.slice(-1) === 'x' ? 'y' : 'x';
    expect((await asking(world, key.key.slice(0, -1) + last)('GET', '/v1/jobs')).status).toBe(401);
    const { redis, keys, clock } = world.parts;
    const store = new KeyStore(redis, keys, world.parts.audit, [`another ${KEY_PEPPER}`]);
    expect(await new StoredKeys(store, clock, silentLog).authenticate(key.key)).toBeUndefined();
  });

  test('The list of keys shows which were made with a pepper that the API does not have', async () => {
    const world = await apiWorld(server.url);
    const { key } = await keyHolder(world, 'acme');
    const { redis, keys } = world.parts;
    const wrong = new KeyStore(redis, keys, world.parts.audit, [`another ${KEY_PEPPER}`]);
    const foreign = await wrong.create(KeyRequestSchema.parse({ tenant: 'acme' }), Date.now(), {
      keyId: 'root',
      address: '127.0.0.1',
    });
    const { data } = ApiKeyListSchema.parse(await (await world.ask('GET', '/v1/keys')).json());
    expect(data.map(({ id, usable }) => [id, usable])).toEqual([
      [key.id, true],
      [foreign.id, false],
    ]);
  });

  test('A request outside the scopes of its key is answered 403, and one without a key 401', async () => {
    const world = await apiWorld(server.url);
    const routes = [
      ['submit', 'POST', '/v1/jobs', circle],
      ['read', 'GET', '/v1/jobs'],
      ['cancel', 'POST', '/v1/jobs/job_01jd3v9s6w0000000000000000/cancel'],
      ['admin', 'GET', '/v1/keys'],
      ['admin', 'POST', '/v1/keys', { tenant: 'acme' }],
      ['admin', 'PATCH', '/v1/keys/abcdefgh', {}],
      ['admin', 'DELETE', '/v1/keys/abcdefgh'],
      ['admin', 'GET', '/admin/queues'],
    ] as const;
    for (const scope of ['submit', 'read', 'cancel', 'admin'] as const) {
      const { ask } = await keyHolder(world, 'acme', { scopes: [scope] });
      for (const [wanted, method, path, body] of routes) {
        const { status } = await ask(method, path, body);
        expect(status === 403, `${scope}: ${method} ${path} is ${status}`).toBe(wanted !== scope);
        expect((await world.app.request(path, { method })).status, path).toBe(401);
      }
    }
  });

  test('A key stops working when it expires', async () => {
    let skewMs = 0;
    const clock: Clock = { ...systemClock, now: () => systemClock.now() + skewMs };
    const world = await apiWorld(server.url);
    const expires_at = new Date(clock.now() + 3_600_000).toISOString();
    const { key } = await keyHolder(world, 'acme', { expires_at });
    const keys = new StoredKeys(world.parts.keyStore, clock, silentLog);
    expect(await keys.authenticate(key.key)).toMatchObject({ tenant: 'acme' });
    skewMs = 3_600_001;
    expect(await keys.authenticate(key.key)).toBeUndefined();
  });

  test('A revoked key stops working on every API process within a second, and other keys of its tenant go on', async () => {
    let passedMs = 0;
    const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + passedMs };
    const world = await apiWorld(server.url, { clock });
    const other = await apiWorld(server.url, { clock, keys: world.parts.keys });
    const [old, next] = [await keyHolder(world, 'acme'), await keyHolder(world, 'acme')];
    for (const each of [world, other]) {
      for (const { key } of [old, next]) {
        expect((await asking(each, key.key)('GET', '/v1/jobs')).status).toBe(200);
      }
    }
    expect((await world.ask('DELETE', `/v1/keys/${old.key.id}`)).status).toBe(204);
    passedMs = 1000;
    for (const each of [world, other])
      expect((await asking(each, old.key.key)('GET', '/v1/jobs')).status).toBe(401);
    expect((await asking(other, next.key.key)('GET', '/v1/jobs')).status).toBe(200);
    expect((await world.ask('DELETE', `/v1/keys/${old.key.id}`)).status).toBe(404);
  });

  test.each([
    [{}, '', 'must have at least one of: name, scopes, expires_at, limits'],
    [{ limits: {} }, '/limits', 'must have at least one of: max_jobs, max_queued, '],
  ])(
    'A change of a key without any change (%j) is refused, with the fields that it may have',
    async (change, pointer, detail) => {
      const world = await apiWorld(server.url);
      const { key } = await keyHolder(world, 'acme');
      const answer = await world.ask('PATCH', `/v1/keys/${key.id}`, change);
      expect(answer.status).toBe(422);
      const problem = await problemOf(answer);
      expect(problem).toMatchObject({
        type: 'urn:lehr:problem:invalid-input',
        errors: [{ pointer, detail: expect.stringContaining(detail) }],
      });
    },
  );

  test('A key is changed field by field, and a revoked key stays revoked', async () => {
    const world = await apiWorld(server.url);
    const { key } = await keyHolder(world, 'acme', { name: 'farm', limits: { max_jobs: 5, weight: 2 } });
    const path = `/v1/keys/${key.id}`;
    const change = { name: '', limits: { max_jobs: null, cost_per_minute_s: 60 }, scopes: ['read'] };
    const changed = ApiKeySchema.strict().parse(await (await world.ask('PATCH', path, change)).json());
    expect(changed).toMatchObject({
      name: '',
      scopes: ['read'],
      limits: { max_jobs: null, cost_per_minute_s: 60, weight: 2 },
    });
    await world.ask('DELETE', path);
    expect((await world.ask('PATCH', path, { name: 'back' })).status).toBe(404);
    await world.parts.keyStore.markUsed(key.id, 1);
    expect(await (await world.ask('GET', '/v1/keys')).json()).toMatchObject({ data: [] });
  });

  test('Changes of a key at the same time are all kept, also those of different limits', async () => {
    const world = await apiWorld(server.url);
    const { key } = await keyHolder(world, 'acme', { limits: { max_jobs: 5 } });
    const changes = [{ max_jobs: null }, { max_queued: 7 }, { weight: 0.1 }, { cost_per_minute_s: 0.001 }];
    for (let round = 0; round < 20; round++) {
      await world.ask('PATCH', `/v1/keys/${key.id}`, {
        limits: { max_jobs: 5, max_queued: null, weight: 1, cost_per_minute_s: null },
      });
      const answers = await Promise.all(
        changes.map((limits) => world.ask('PATCH', `/v1/keys/${key.id}`, { limits })),
      );
      for (const [i, answer] of answers.entries())
        expect(await answer.json()).toMatchObject({ limits: changes[i] });
      const { data } = ApiKeyListSchema.parse(await (await world.ask('GET', '/v1/keys')).json());
      expect(data[0].limits).toEqual({ ...DEFAULT_LIMITS, ...Object.assign({}, ...changes) });
    }
  });

  test('A key with a scope of a newer version is listed and works, with the scopes that this version knows', async () => {
    const world = await apiWorld(server.url);
    const { key, ask } = await keyHolder(world, 'acme');
    const { redis, keys } = world.parts;
    await redis.hset(keys.apiKey(key.id), 'scopes', '["read","paint"]');
    const { data } = ApiKeyListSchema.parse(await (await world.ask('GET', '/v1/keys')).json());
    expect(data).toMatchObject([{ id: key.id, scopes: ['read'] }]);
    expect((await ask('GET', '/v1/jobs')).status).toBe(200);
    expect((await ask('POST', '/v1/jobs', circle)).status).toBe(403);
    await world.ask('PATCH', `/v1/keys/${key.id}`, { name: 'farm' });
    expect(await redis.hget(keys.apiKey(key.id), 'scopes')).toBe('["read","paint"]');
  });

  test('A key shows when it was last used, with at most one write per minute', async () => {
    let nowMs = systemClock.now();
    const clock: Clock = { ...systemClock, now: () => nowMs };
    const world = await apiWorld(server.url);
    const { key } = await keyHolder(world, 'acme');
    const noted = vi.spyOn(world.parts.keyStore, 'markUsed');
    const keys = new StoredKeys(world.parts.keyStore, clock, silentLog);
    const usedAt = async () => (await world.parts.keyStore.list())[0].last_used_at;
    const first = new Date(nowMs).toISOString();
    for (let i = 0; i < 20; i++) await keys.authenticate(key.key);
    await expect.poll(usedAt).toBe(first);
    nowMs += 59_000;
    for (let i = 0; i < 20; i++) await keys.authenticate(key.key);
    expect(noted).toHaveBeenCalledTimes(1);
    nowMs += 1_000;
    await keys.authenticate(key.key);
    await expect.poll(usedAt).toBe(new Date(nowMs).toISOString());
    expect(noted).toHaveBeenCalledTimes(2);
  });

  test('A key is not read from Redis for every request', async () => {
    const world = await apiWorld(server.url);
    const { key } = await keyHolder(world, 'acme');
    const found = vi.spyOn(world.parts.keyStore, 'find');
    const keys = new StoredKeys(world.parts.keyStore, { ...systemClock, monotonic: () => 0 }, silentLog);
    await keys.authenticate(key.key);
    await expect.poll(async () => (await world.parts.keyStore.list())[0].last_used_at).not.toBeNull();
    await keys.authenticate(key.key);
    const before = found.mock.calls.length;
    for (let i = 0; i < 100; i++) expect(await keys.authenticate(key.key)).toBeDefined();
    expect(found.mock.calls.length).toBe(before);
  });

  test.each([
    [{ tenant: 'Acme' }, '/tenant'],
    [{ tenant: 'a:b' }, '/tenant'],
    [{ tenant: '' }, '/tenant'],
    [{ tenant: 'a', scopes: [] }, '/scopes'],
    [{ tenant: 'a', scopes: ['root'] }, '/scopes/0'],
    [{ tenant: 'a', expires_at: 'tomorrow' }, '/expires_at'],
    [{ tenant: 'a', limits: { max_jobs: 0 } }, '/limits/max_jobs'],
    [{ tenant: 'a', limits: { weight: -1 } }, '/limits/weight'],
    [{ tenant: 'a', limits: { jobs: 1 } }, '/limits/jobs'],
  ])('An invalid key request is refused with a pointer to its field: %j', async (request, pointer) => {
    const world = await apiWorld(server.url);
    const response = await world.ask('POST', '/v1/keys', request);
    expect(response.status).toBe(422);
    expect((await problemOf(response)).errors?.map((problem) => problem.pointer)).toEqual([pointer]);
  });
});

test('The configured key works beside the stored keys and is not listed', async () => {
  const world = await apiWorld(server.url);
  await keyHolder(world, 'acme');
  expect(await world.parts.authenticator.authenticate(API_KEY)).toMatchObject({
    tenant: 'default',
    keyId: 'root',
  });
  const list = ApiKeyListSchema.parse(await (await world.ask('GET', '/v1/keys')).json());
  expect(list.data.map(({ tenant }) => tenant)).toEqual(['acme']);
  const nobody = { authenticate: async () => undefined, find: async () => undefined };
  expect(await anyOf(nobody, world.parts.authenticator).authenticate('x')).toBeUndefined();
});
