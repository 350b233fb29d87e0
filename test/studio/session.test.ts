/** Signing in to the studio: what the cookie opens, what it does not, and when it ends. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { endRevoked } from '../../apps/api/src/follow/streams.ts';
import { ApiKeyListSchema, AuditListSchema, systemClock } from '../../packages/shared/src/index.ts';
import { API_KEY, type ApiWorld, apiWorld, problemOf } from '../support/api-world.ts';
import { type KeyHolder, keyHolder } from '../support/key-holder.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { within } from '../support/timeouts.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

interface Browser {
  readonly cookie: string;
  readonly csrf: string;
  ask(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Response>;
}

const JSON_TYPE = { 'content-type': 'application/json' };
const PICTURE = { type: 'text-to-image', input: { prompt: 'a red circle' } };

const send = async (
  world: ApiWorld,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Response> =>
  world.app.request(path, {
    method,
    headers: { ...(body !== undefined && JSON_TYPE), ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });

async function signIn(world: ApiWorld, request: object): Promise<Browser> {
  const response = await send(world, 'POST', '/studio/session', request);
  expect(response.status).toBe(201);
  const { session } = (await response.json()) as { session: { csrf: string } };
  const [cookie] = (response.headers.get('set-cookie') ?? '').split(';');
  return {
    cookie,
    csrf: session.csrf,
    ask: (method, path, body, headers = { 'x-lehr-csrf': session.csrf }) =>
      send(world, method, path, body, { cookie, ...headers }),
  };
}

async function actionsOf(world: ApiWorld): Promise<string[]> {
  const page = AuditListSchema.parse(await (await world.ask('GET', '/v1/audit')).json());
  return page.data.map(({ action }) => action);
}

const holder = (world: ApiWorld, more = {}): Promise<KeyHolder> =>
  keyHolder(world, 'acme', { scopes: ['submit', 'read', 'cancel'], ...more });

test('A key signs in, and the cookie is one that scripts and other sites cannot use', async () => {
  const world = await apiWorld(server.url);
  const response = await send(world, 'POST', '/studio/session', { key: API_KEY });
  const cookie = response.headers.get('set-cookie') ?? '';
  expect(cookie).toMatch(/^__Host-lehr-session=root\.[\w-]{43};/);
  for (const part of ['HttpOnly', 'SameSite=Strict', 'Secure', 'Path=/']) expect(cookie).toContain(part);
  expect(await response.json()).toMatchObject({ session: { key: 'root', tenant: 'default' } });
  expect(response.headers.get('cache-control')).toBe('no-store');
  expect(await actionsOf(world)).toEqual(['session.created']);
});

test('A session makes, lists and cancels jobs of its key, and opens neither other dialects nor what administrators see', async () => {
  const world = await apiWorld(server.url);
  const { key } = await holder(world);
  const { ask } = await signIn(world, { key: key.key });
  const made = await ask('POST', '/v1/jobs', PICTURE);
  expect(made.status).toBe(202);
  const { id } = (await made.json()) as { id: string };
  expect((await ask('GET', `/v1/jobs/${id}`)).status).toBe(200);
  expect((await ask('GET', '/v1/models')).status).toBe(200);
  expect((await ask('POST', `/v1/jobs/${id}/cancel`)).status).toBe(200);
  expect((await world.ask('GET', `/v1/jobs/${id}`)).status).toBe(404);
  expect((await ask('GET', '/v1/predictions')).status).toBe(401);
  expect((await ask('PATCH', `/v1/keys/${key.id}`, { limits: { max_jobs: null } })).status).toBe(403);
  for (const path of ['/v1/keys', '/v1/audit', '/v1/settings', '/v1/dead-letters', '/v1/traffic']) {
    expect((await ask('GET', path)).status, path).toBe(403);
  }
});

test('A session of an administrator reads and revokes keys and changes their limits, and changes the rights of none', async () => {
  const world = await apiWorld(server.url);
  const { key } = await holder(world);
  const { ask } = await signIn(world, { key: API_KEY });
  for (const path of [
    '/v1/keys',
    '/v1/audit',
    '/v1/settings',
    '/v1/usage',
    '/v1/dead-letters',
    '/v1/traffic',
  ]) {
    expect((await ask('GET', path)).status, path).toBe(200);
  }
  expect((await ask('POST', '/v1/keys', { tenant: 'spare' })).status).toBe(401);
  const patch = (change: object) => ask('PATCH', `/v1/keys/${key.id}`, change);
  const limited = await patch({ limits: { max_jobs: 7 } });
  expect(await limited.json()).toMatchObject({ limits: { max_jobs: 7, max_streams: 1000 } });
  for (const change of [
    { name: 'x' },
    { expires_at: null },
    { scopes: ['admin'], limits: { max_jobs: 8 } },
  ]) {
    expect((await patch(change)).status, JSON.stringify(change)).toBe(403);
  }
  expect((await ask('PATCH', `/v1/keys/${key.id}`, { limits: { max_jobs: 9 } }, {})).status).toBe(403);
  expect(await actionsOf(world)).toContain('key.changed');
  const [shown] = ApiKeyListSchema.parse(await (await ask('GET', '/v1/keys')).json()).data;
  expect([shown.limits.max_jobs, shown.scopes]).toEqual([7, ['submit', 'read', 'cancel']]);
  expect((await ask('DELETE', `/v1/keys/${key.id}`)).status).toBe(204);
});

test('A session pauses and deletes schedules, and neither makes them nor changes what they do', async () => {
  const world = await apiWorld(server.url);
  const request = { type: 'text-to-image', input: { prompt: 'a circle' } };
  const made = await world.ask('POST', '/v1/schedules', { name: 'nightly', every_s: 60, request });
  const { id } = (await made.json()) as { id: string };
  const { ask } = await signIn(world, { key: API_KEY });
  expect((await ask('GET', '/v1/schedules')).status).toBe(200);
  expect((await ask('POST', '/v1/schedules', { name: 'more', every_s: 60, request })).status).toBe(401);
  const patch = (change: object) => ask('PATCH', `/v1/schedules/${id}`, change);
  expect(await (await patch({ paused: true })).json()).toMatchObject({ status: 'paused' });
  expect((await patch({ paused: false, every_s: 10 })).status).toBe(403);
  expect((await ask('DELETE', `/v1/schedules/${id}`)).status).toBe(204);
});

test('A session opens the queue board for an administrator, for reading only, and for no other key', async () => {
  const world = await apiWorld(server.url);
  const { key } = await holder(world);
  const admin = await signIn(world, { key: API_KEY });
  expect((await admin.ask('GET', '/admin/queues')).status).toBe(200);
  expect((await admin.ask('GET', '/admin/queues/api/queues')).status).toBe(200);
  expect((await admin.ask('PUT', '/admin/queues/api/queues/x/pause')).status).toBe(401);
  const other = await signIn(world, { key: key.key });
  expect((await other.ask('GET', '/admin/queues')).status).toBe(403);
  expect(await actionsOf(world)).toContain('admin.refused');
});

test('A session does not open the routes of Replicate below /v1/models', async () => {
  const world = await apiWorld(server.url);
  const { key } = await holder(world);
  const { ask } = await signIn(world, { key: key.key });
  expect((await ask('GET', '/v1/models/tiny')).status).toBe(200);
  for (const [method, path] of [
    ['GET', '/v1/models/lehr/tiny'],
    ['GET', '/v1/models/lehr/tiny/versions'],
    ['GET', '/v1/models/lehr/tiny/versions/tiny@1'],
    ['POST', '/v1/models/lehr/tiny/predictions'],
  ] as const) {
    const body = method === 'POST' ? { input: PICTURE.input } : undefined;
    expect((await ask(method, path, body)).status, path).toBe(401);
  }
});

test('A session has no more rights than its key', async () => {
  const world = await apiWorld(server.url);
  const { key } = await holder(world, { scopes: ['read'] });
  const { ask } = await signIn(world, { key: key.key });
  expect((await ask('GET', '/v1/jobs')).status).toBe(200);
  expect((await ask('POST', '/v1/jobs', PICTURE)).status).toBe(403);
});

test('A request that changes something is refused without the token of its session', async () => {
  const world = await apiWorld(server.url);
  const { key } = await holder(world);
  const [one, other] = [await signIn(world, { key: key.key }), await signIn(world, { key: key.key })];
  for (const csrf of ['', 'x', other.csrf, `${one.csrf}x`]) {
    const refused = await one.ask('POST', '/v1/jobs', PICTURE, { 'x-lehr-csrf': csrf });
    expect(refused.status).toBe(403);
    expect((await problemOf(refused)).type).toBe('urn:lehr:problem:forbidden');
    expect((await one.ask('DELETE', '/studio/session', undefined, { 'x-lehr-csrf': csrf })).status).toBe(403);
  }
  const { data } = (await (await one.ask('GET', '/v1/jobs')).json()) as { data: object[] };
  expect(data).toEqual([]);
});

test.each([
  ['sec-fetch-site', 'cross-site'],
  ['sec-fetch-site', 'same-site'],
  ['origin', 'https://evil.test'],
])('A page of another origin cannot sign a browser in: %s %s', async (name, value) => {
  const headers = { [name]: value };
  const world = await apiWorld(server.url);
  const response = await send(world, 'POST', '/studio/session', { key: API_KEY }, headers);
  expect(response.status).toBe(403);
  expect(response.headers.get('set-cookie')).toBeNull();
});

test('Signing out ends one session, and signing out everywhere ends all of the key', async () => {
  const world = await apiWorld(server.url);
  const { key } = await holder(world);
  const browsers = await Promise.all([1, 2, 3].map(() => signIn(world, { key: key.key })));
  const [first, second, third] = browsers;
  const out = await first.ask('DELETE', '/studio/session');
  expect(out.status).toBe(204);
  expect(out.headers.get('set-cookie')).toContain('Max-Age=0');
  const statuses = () => Promise.all(browsers.map(async ({ ask }) => (await ask('GET', '/v1/jobs')).status));
  expect(await statuses()).toEqual([401, 200, 200]);
  expect((await second.ask('DELETE', '/studio/sessions')).status).toBe(204);
  expect(await statuses()).toEqual([401, 401, 401]);
  expect(await (await third.ask('GET', '/studio/session')).json()).toEqual({ session: null });
  expect((await actionsOf(world)).filter((action) => action === 'session.ended')).toHaveLength(2);
});

test('A link that was made before signing out everywhere signs in no more, and one made after it does', async () => {
  const world = await apiWorld(server.url);
  const [{ key, ask }, other] = [await holder(world), await holder(world)];
  const codeOf = async (from: KeyHolder['ask']): Promise<string> =>
    new URL(((await (await from('POST', '/studio/links')).json()) as { url: string }).url).hash.slice(1);
  const browser = await signIn(world, { key: key.key });
  const [before, ofOther] = [await codeOf(ask), await codeOf(other.ask)];
  expect((await browser.ask('DELETE', '/studio/sessions')).status).toBe(204);
  expect((await send(world, 'POST', '/studio/session', { code: before })).status).toBe(401);
  await signIn(world, { code: ofOther });
  const again = await signIn(world, { code: await codeOf(ask) });
  const between = await codeOf(ask);
  await again.ask('DELETE', '/studio/sessions');
  expect((await send(world, 'POST', '/studio/session', { code: between })).status).toBe(401);
  await signIn(world, { code: await codeOf(ask) });
});

test.each([
  ['of that browser', '/studio/session', true],
  ['everywhere', '/studio/sessions', true],
  ['of another browser', '/studio/session', false],
])(
  'An open event stream of a session ends within a second of signing out %s: %s, %s',
  async (_, path, ends) => {
    const world = await apiWorld(server.url);
    const { key, ask } = await holder(world);
    const [one, other] = [await signIn(world, { key: key.key }), await signIn(world, { key: key.key })];
    const { id } = (await (await ask('POST', '/v1/jobs', PICTURE)).json()) as { id: string };
    const events = async (from: (method: string, path: string) => Promise<Response>) => {
      const response = await from('GET', `/v1/jobs/${id}/events`);
      expect(response.status).toBe(200);
      return { text: response.text() };
    };
    const [{ text: ofSession }, { text: ofKey }] = [await events(one.ask), await events(ask)];
    await endRevoked(world.parts);
    await (ends ? one : other).ask('DELETE', path);
    await endRevoked(world.parts);
    if (ends) expect(await within(60_000, 'the end of the stream', ofSession)).not.toContain('job.canceled');
    await ask('POST', `/v1/jobs/${id}/cancel`);
    for (const kept of ends ? [ofKey] : [ofKey, ofSession]) expect(await kept).toContain('job.canceled');
  },
);

test('A session ends with its time, and with its key', async () => {
  let later = 0;
  const world = await apiWorld(server.url, { clock: { ...systemClock, now: () => Date.now() + later } });
  const { key } = await holder(world);
  const short = await signIn(world, { key: key.key });
  later = 3_590_000;
  expect((await short.ask('GET', '/v1/jobs')).status).toBe(200);
  later = 3_600_000;
  expect((await short.ask('GET', '/v1/jobs')).status).toBe(401);

  const next = await signIn(world, { key: key.key });
  await world.ask('DELETE', `/v1/keys/${key.id}`);
  await expect.poll(async () => (await next.ask('GET', '/v1/jobs')).status).toBe(401);
  expect(await world.parts.redis.exists(world.parts.keys.sessions(key.id))).toBe(0);
});

test('A link signs in once, and only a key makes one', async () => {
  const world = await apiWorld(server.url);
  expect((await send(world, 'POST', '/studio/links')).status).toBe(401);
  const made = await world.ask('POST', '/studio/links');
  const { url } = (await made.json()) as { url: string };
  expect(url).toMatch(/^https:\/\/lehr\.test\/studio\/sign-in#[\w-]{43}$/);
  const code = new URL(url).hash.slice(1);
  const { ask } = await signIn(world, { code });
  expect((await ask('GET', '/v1/jobs')).status).toBe(200);
  expect((await ask('POST', '/studio/links')).status).toBe(401);
  const again = await send(world, 'POST', '/studio/session', { code });
  expect(again.status).toBe(401);
  expect((await problemOf(again)).detail).toMatch(/has been used or has expired/);
});

test('After ten wrong keys an address is a 429, and the audit log has one entry', async () => {
  const world = await apiWorld(server.url);
  for (let i = 0; i < 10; i += 1) {
    expect((await send(world, 'POST', '/studio/session', { key: `wrong-${i}` })).status).toBe(401);
  }
  const refused = await send(world, 'POST', '/studio/session', { key: 'wrong-10' });
  expect(refused.status).toBe(429);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  await expect.poll(() => actionsOf(world)).toEqual(['session.refused']);
});

test('A right key or link signs in although its address has sent many wrong ones', async () => {
  const world = await apiWorld(server.url);
  for (let i = 0; i < 12; i += 1) await send(world, 'POST', '/studio/session', { key: `wrong-${i}` });
  expect((await send(world, 'POST', '/studio/session', { code: 'wrong' })).status).toBe(429);
  await signIn(world, { key: API_KEY });
  const { url } = (await (await world.ask('POST', '/studio/links')).json()) as { url: string };
  await signIn(world, { code: new URL(url).hash.slice(1) });
});

test('A key that signs in or makes links all the time is a 429, and other keys are not', async () => {
  const world = await apiWorld(server.url);
  const [{ key, ask }, other] = [await holder(world), await holder(world)];
  await signIn(world, { key: key.key });
  const made = await ask('POST', '/studio/links');
  for (let i = 0; i < 4; i += 1) {
    await signIn(world, { key: key.key });
    expect((await ask('POST', '/studio/links')).status).toBe(201);
  }
  const before = await actionsOf(world);
  for (let i = 0; i < 3; i += 1) {
    const refused = await send(world, 'POST', '/studio/session', { key: key.key });
    expect(refused.status).toBe(429);
    expect(refused.headers.get('ratelimit-limit')).toBe('10');
    expect((await ask('POST', '/studio/links')).status).toBe(429);
  }
  expect(await actionsOf(world)).toEqual(before);
  // The link was counted when it was made.
  await signIn(world, { code: new URL(((await made.json()) as { url: string }).url).hash.slice(1) });
  await signIn(world, { key: other.key.key });
  expect((await ask('GET', '/v1/jobs')).status).toBe(200);
});

test.each([{}, { key: 1 }, { key: 'a', code: 'b' }, { key: 'x'.repeat(600) }])(
  'A body that is no sign-in is refused as such: %o',
  async (body) => {
    const world = await apiWorld(server.url);
    expect((await send(world, 'POST', '/studio/session', body)).status).toBe(400);
  },
);

test('The page of the studio runs only its own scripts and styles, and may not be framed', async () => {
  const world = await apiWorld(server.url);
  for (const path of ['/', '/studio/speak', '/studio/jobs/job_1']) {
    const page = await send(world, 'GET', path);
    expect(page.status).toBe(200);
    const policy = page.headers.get('content-security-policy') ?? '';
    expect(policy).not.toMatch(/unsafe|\*/);
    for (const rule of ["script-src 'self'", "default-src 'none'", "frame-ancestors 'none'"]) {
      expect(policy).toContain(rule);
    }
    const [, script] = /src="([^"]+\.js)"/.exec(await page.text()) ?? [];
    const file = await send(world, 'GET', script, undefined, { 'accept-encoding': 'br' });
    expect([file.status, file.headers.get('content-encoding')]).toEqual([200, 'br']);
  }
  expect((await send(world, 'GET', '/studio/assets/none.js')).status).toBe(404);
});
