import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { AuditLog } from '../../apps/api/src/access/audit/audit-log.ts';
import { listen } from '../../apps/api/src/http/listen.ts';
import {
  AUDIT_ACTIONS,
  type AuditEntry,
  AuditListSchema,
  systemClock,
} from '../../packages/shared/src/index.ts';
import { API_KEY, type ApiWorld, apiWorld, problemOf } from '../support/api-world.ts';
import { keyHolder } from '../support/key-holder.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

async function pageOf(world: ApiWorld, query = '') {
  const response = await world.ask('GET', `/v1/audit${query}`);
  expect(response.status).toBe(200);
  return AuditListSchema.strict().parse(await response.json());
}
const entriesOf = async (world: ApiWorld, query = ''): Promise<AuditEntry[]> =>
  (await pageOf(world, query)).data;
const actionsOf = async (world: ApiWorld, query = ''): Promise<string[]> =>
  (await entriesOf(world, query)).map(({ action }) => action);
const basic = (password: string) => ({
  authorization: `Basic ${Buffer.from(`admin:${password}`).toString('base64')}`,
});

test('The audit log says who created, changed and revoked a key, and with which values', async () => {
  const world = await apiWorld(server.url);
  const { key, ask } = await keyHolder(world, 'ops', { scopes: ['admin'], name: 'night shift' });
  const { key: made } = await keyHolder({ ...world, ask }, 'acme', { limits: { max_jobs: 5 } });
  await ask('PATCH', `/v1/keys/${made.id}`, { name: 'farm', limits: { weight: 2 }, expires_at: null });
  await ask('DELETE', `/v1/keys/${made.id}`);
  const entries = await entriesOf(world);
  expect(entries).toMatchObject([
    { action: 'key.revoked', actor: key.id, tenant: 'acme', target: made.id, changes: {} },
    {
      action: 'key.changed',
      actor: key.id,
      tenant: 'acme',
      target: made.id,
      changes: { name: 'farm', limits: { weight: 2 }, expires_at: null },
    },
    { action: 'key.created', actor: key.id, tenant: 'acme', changes: { limits: { max_jobs: 5 } } },
    {
      action: 'key.created',
      actor: 'root',
      tenant: 'ops',
      changes: { name: 'night shift', scopes: ['admin'] },
    },
  ]);
  for (const { at } of entries) expect(Math.abs(Date.parse(at) - Date.now())).toBeLessThan(60_000);
  const secrets = [key.key, made.key].flatMap((text) => [text, text.split('_')[3]]);
  for (const secret of secrets) expect(JSON.stringify(entries)).not.toContain(secret);
});

test('The entries of changes at the same time have what each of them has set', async () => {
  const world = await apiWorld(server.url);
  const { key } = await keyHolder(world, 'acme');
  const limits = [{ max_jobs: 7 }, { weight: 0.5 }];
  await Promise.all(limits.map((each) => world.ask('PATCH', `/v1/keys/${key.id}`, { limits: each })));
  const entries = await entriesOf(world, '?action=key.changed');
  expect(entries.map(({ tenant }) => tenant)).toEqual(['acme', 'acme']);
  expect(new Set(entries.map(({ changes }) => JSON.stringify(changes)))).toEqual(
    new Set(limits.map((each) => JSON.stringify({ limits: each }))),
  );
  expect((await world.parts.keyStore.find(key.id))?.limits).toMatchObject({ max_jobs: 7, weight: 0.5 });
});

test('What changes nothing has no entry: an unknown key, an empty change, a use of a key', async () => {
  const world = await apiWorld(server.url);
  const { key, ask } = await keyHolder(world, 'acme');
  await ask('GET', '/v1/jobs');
  await world.ask('PATCH', `/v1/keys/${key.id}`, {});
  await world.ask('PATCH', '/v1/keys/abcdefgh', { name: 'x' });
  await world.ask('DELETE', '/v1/keys/abcdefgh');
  await expect
    .poll(async () => (await world.parts.keyStore.find(key.id))?.last_used_at)
    .toEqual(expect.any(Number));
  expect(await actionsOf(world)).toEqual(['key.created']);
});

test('The audit log says who got and rotated a webhook secret, and when Lehr created it', async () => {
  const world = await apiWorld(server.url);
  const { key, ask } = await keyHolder(world, 'acme');
  const shown = (await (await ask('POST', '/v1/webhooks/secret')).json()) as { key: string };
  expect((await ask('POST', '/v1/webhooks/secret')).status).toBe(409);
  await ask('POST', '/v1/webhooks/secret/rotate');
  await world.parts.webhooks.secrets.signing('other' as never);
  const entries = await entriesOf(world);
  expect(entries.slice(0, -1)).toMatchObject([
    { action: 'webhook-secret.created', actor: null, tenant: 'other' },
    { action: 'webhook-secret.rotated', actor: key.id, tenant: 'acme' },
    { action: 'webhook-secret.shown', actor: key.id, tenant: 'acme' },
    { action: 'webhook-secret.created', actor: key.id, tenant: 'acme' },
  ]);
  expect(JSON.stringify(entries)).not.toContain(shown.key);
});

test('A key that is refused at /admin is noted with its address, and guessing adds one entry a minute', async () => {
  let passedMs = 0;
  const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + passedMs };
  const world = await apiWorld(server.url, { clock });
  const listener = await listen('127.0.0.1', 0);
  onTestFinished(() => listener.close(0));
  listener.serve(world.app.fetch);
  const open = async (headers: Record<string, string>) =>
    (await fetch(`http://127.0.0.1:${listener.port}/admin/queues`, { headers })).status;
  expect(await open({})).toBe(401);
  expect(await open(basic(API_KEY))).toBe(200);
  for (let i = 0; i < 10; i++) expect(await open(basic(`guess ${i}`))).toBe(401);
  await expect
    .poll(() => entriesOf(world))
    .toMatchObject([
      { action: 'admin.refused', actor: null, address: '127.0.0.1', changes: { requests: 1 } },
    ]);
  passedMs = 61_000;
  const { key } = await keyHolder(world, 'acme');
  expect(await open(basic(key.key))).toBe(403);
  await expect
    .poll(() => entriesOf(world, '?action=admin.refused'))
    .toMatchObject([{ actor: key.id, tenant: 'acme', changes: { requests: 10 } }, { actor: null }]);
  expect(JSON.stringify(await entriesOf(world))).not.toContain('guess');
});

test('The audit log is read a page at a time, by tenant and by action', async () => {
  const world = await apiWorld(server.url);
  for (const tenant of ['a', 'b', 'a', 'b', 'a']) await keyHolder(world, tenant);
  const tenants: (string | null)[] = [];
  let path = '?limit=2';
  for (let pages = 1; ; pages++) {
    const response = await world.ask('GET', `/v1/audit${path}`);
    const { data, next_cursor, has_more } = AuditListSchema.parse(await response.json());
    tenants.push(...data.map(({ tenant }) => tenant));
    expect(has_more).toBe(next_cursor !== null);
    expect(response.headers.has('link')).toBe(has_more);
    if (next_cursor === null) {
      expect(pages).toBe(3);
      break;
    }
    path = `?limit=2&cursor=${next_cursor}`;
  }
  expect(tenants).toEqual(['a', 'b', 'a', 'b', 'a']);
  expect((await pageOf(world, '?tenant=b&action=key.created')).data).toHaveLength(2);
  expect(await pageOf(world, '?tenant=b&action=key.revoked')).toMatchObject({ data: [], has_more: false });
  for (const query of ['?cursor=x', '?cursor=0-0', '?action=key.made', '?tenant=A', '?limit=101']) {
    const response = await world.ask('GET', `/v1/audit${query}`);
    expect(response.status, query).toBe(400);
    expect(await problemOf(response)).toMatchObject({ type: 'urn:lehr:problem:invalid-request' });
  }
});

test('Only a key with the scope admin reads the audit log', async () => {
  const world = await apiWorld(server.url);
  const { ask } = await keyHolder(world, 'acme', { scopes: ['submit', 'read', 'cancel'] });
  expect((await ask('GET', '/v1/audit')).status).toBe(403);
  expect((await world.app.request('/v1/audit')).status).toBe(401);
});

test('Entries that are older than the retention are not listed and are removed by the next entry', async () => {
  const world = await apiWorld(server.url);
  const { redis, keys, audit } = world.parts;
  const facts = {
    action: 'key.created',
    actor: 'root',
    tenant: 'old',
    target: null,
    address: null,
    changes: {},
  };
  for (let i = 1; i <= 300; i++) await redis.xadd(keys.audit, `${i}-0`, 'facts', JSON.stringify(facts));
  expect(await entriesOf(world)).toEqual([]);
  await audit.append({ ...facts, action: 'key.revoked' });
  expect(await redis.xlen(keys.audit)).toBe(1);
});

test('An entry that this version cannot read is left out', async () => {
  const world = await apiWorld(server.url);
  await keyHolder(world, 'acme');
  const { redis, keys } = world.parts;
  await redis.xadd(keys.audit, '*', 'facts', '{"action":"moon.landed"}');
  await redis.xadd(keys.audit, '*', 'facts', 'not JSON');
  await keyHolder(world, 'acme');
  expect(await actionsOf(world)).toEqual(['key.created', 'key.created']);
});

test('In a full Redis no key is created or changed without its entry, and a key can still be revoked with one', async () => {
  const own = await startRedis();
  onTestFinished(() => own.stop());
  const world = await apiWorld(own.url);
  const { redis } = world.parts;
  const { key } = await keyHolder(world, 'acme');
  await redis.config('SET', 'maxmemory', '1');
  expect((await world.ask('POST', '/v1/keys', { tenant: 'acme' })).status).toBe(503);
  expect((await world.ask('PATCH', `/v1/keys/${key.id}`, { name: 'x' })).status).toBe(503);
  expect((await world.ask('DELETE', `/v1/keys/${key.id}`)).status).toBe(204);
  await redis.config('SET', 'maxmemory', '0');
  expect(await actionsOf(world)).toEqual(['key.revoked', 'key.created']);
  expect((await world.parts.keyStore.list()).map(({ id }) => id)).toEqual([]);
});

test('A change whose entry cannot be appended is not made', async () => {
  const world = await apiWorld(server.url);
  const { key } = await keyHolder(world, 'acme');
  const { redis, keys, keyStore } = world.parts;
  await redis.set(keys.audit, 'not a stream');
  expect((await world.ask('POST', '/v1/keys', { tenant: 'acme' })).status).toBe(500);
  expect((await world.ask('PATCH', `/v1/keys/${key.id}`, { name: 'x' })).status).toBe(500);
  expect((await world.ask('POST', '/v1/webhooks/secret/rotate')).status).toBe(500);
  expect(await keyStore.list()).toMatchObject([{ id: key.id, name: '' }]);
  expect(await redis.exists(keys.hookSecrets('default' as never))).toBe(0);
});

test('Every entry is counted by its action', async () => {
  const world = await apiWorld(server.url);
  await keyHolder(world, 'acme');
  await world.ask('POST', '/v1/webhooks/secret');
  const page = await (await world.ask('GET', '/metrics')).text();
  for (const action of ['key.created', 'webhook-secret.created', 'webhook-secret.shown'])
    expect(page).toMatch(new RegExp(`^lehr_audit_entries_total\\{action="${action}"\\} 1$`, 'm'));
});

test('A page with a filter that matches nothing examines a bounded number of entries', async () => {
  const world = await apiWorld(server.url);
  const { redis, keys } = world.parts;
  const facts = {
    action: AUDIT_ACTIONS[0],
    actor: null,
    tenant: 'a',
    target: null,
    address: null,
    changes: {},
  };
  const pipeline = redis.pipeline();
  for (let i = 0; i < 6000; i++) pipeline.xadd(keys.audit, '*', 'facts', JSON.stringify(facts));
  await pipeline.exec();
  const audit = new AuditLog(redis, keys, { retentionMs: 60_000 });
  const { entries, next } = await audit.page(10, undefined, { tenant: 'b' });
  expect(entries).toEqual([]);
  expect(next).toMatch(/^\d+-\d+$/);
  expect(await audit.page(10, next, { tenant: 'b' })).toEqual({ entries: [], next: undefined });
});
