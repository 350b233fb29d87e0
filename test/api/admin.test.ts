import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { listen } from '../../apps/api/src/http/listen.ts';
import { systemClock } from '../../packages/shared/src/index.ts';
import { API_KEY, type ApiWorld, apiWorld, problemOf } from '../support/api-world.ts';
import { chromiumPath, launchBrowser, openPage } from '../support/browser.ts';
import { keyHolder } from '../support/key-holder.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { retireIdle } from '../support/retired-groups.ts';

const GROUP = 'diffusion.tiny@1.64x64';
const basic = (user: string, password: string): string =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const queuesOf = async (world: ApiWorld): Promise<string[]> => {
  const response = await world.ask('GET', '/admin/queues/api/queues');
  return ((await response.json()) as { queues: { name: string }[] }).queues.map(({ name }) => name);
};

describe('board', () => {
  test('The board opens with the key, as bearer token or as the password of admin, and not without it', async () => {
    const world = await apiWorld(server.url);
    const statusOf = async (authorization?: string): Promise<number> => {
      const headers = authorization ? { authorization } : undefined;
      const response = await world.app.request('/admin/queues', { headers });
      if (response.status === 401) {
        expect(response.headers.get('www-authenticate')).toBe('Basic realm="Lehr", charset="UTF-8"');
      }
      return response.status;
    };
    expect(await statusOf(basic('admin', API_KEY))).toBe(200);
    expect(await statusOf(`Bearer ${API_KEY}`)).toBe(200);
    expect(await statusOf()).toBe(401);
    expect(await statusOf(basic('admin', 'guess'))).toBe(401);
    expect(await statusOf(basic('root', API_KEY))).toBe(401);
    expect((await world.app.request('/admin/queues/api/queues')).status).toBe(401);
  });

  test('Wrong passwords are slowed down: after ten of them the address is a 429, also with the right one', async () => {
    let now = 0;
    const world = await apiWorld(server.url, { clock: { ...systemClock, monotonic: () => now } });
    const statusOf = async (password: string): Promise<number> => {
      const headers = { authorization: basic('admin', password) };
      return (await world.app.request('/admin/queues', { headers })).status;
    };
    for (let i = 0; i < 20; i++) expect(await statusOf(API_KEY)).toBe(200);
    // Those that arrive together count as well.
    const guesses = await Promise.all(Array.from({ length: 30 }, (_, i) => statusOf(`guess ${i}`)));
    expect(guesses.filter((status) => status === 401)).toHaveLength(10);
    expect(guesses.filter((status) => status === 429)).toHaveLength(20);
    expect(await statusOf(API_KEY)).toBe(429);
    // A request without a password is that of a browser that will ask for it.
    expect((await world.app.request('/admin/queues')).status).toBe(401);
    now = 60_000;
    expect(await statusOf(API_KEY)).toBe(200);
  });

  test('Passwords that cannot be checked because Redis is down do not count as wrong ones', async () => {
    const own = await startRedis();
    onTestFinished(() => own.stop());
    const world = await apiWorld(own.url);
    const holder = await keyHolder(world, 'operators', { scopes: ['admin'] });
    const statusOf = async (): Promise<number> => {
      const headers = { authorization: basic('admin', holder.key.key) };
      return (await world.app.request('/admin/queues', { headers })).status;
    };
    await own.kill();
    for (let i = 0; i < 12; i++) expect(await statusOf()).toBe(503);
    await own.restart();
    await expect.poll(statusOf).toBe(200);
  });

  test('The board also answers with a trailing slash', async () => {
    const world = await apiWorld(server.url);
    const response = await world.ask('GET', '/admin/queues/');
    expect(response.status).toBe(308);
    expect(response.headers.get('location')).toBe('/admin/queues');
  });

  test('The board shows new groups without a restart and opens no extra connection', async () => {
    const world = await apiWorld(server.url);
    expect(await queuesOf(world)).toEqual([]);
    await world.post();
    expect(await queuesOf(world)).toEqual([GROUP]);
    const connections = async () => ((await world.parts.redis.client('LIST')) as string).split('\n').length;
    const before = await connections();
    for (let size = 16; size <= 128; size += 8) await world.post({ width: size, height: 64 });
    expect(await queuesOf(world)).toHaveLength(15);
    expect(await connections()).toBe(before);
  });

  test('The board forgets a group that was retired, and shows it again with its next job', async () => {
    const world = await apiWorld(server.url);
    const other = 'diffusion.tiny@1.96x64';
    await world.post();
    const { id } = await world.post({ width: 96 });
    expect((await queuesOf(world)).sort()).toEqual([GROUP, other]);
    await world.ask('DELETE', `/v1/jobs/${id}`);
    await retireIdle(world.parts, [other]);
    expect(await queuesOf(world)).toEqual([GROUP]);
    const listed = (await (await world.ask('GET', '/v1/queues')).json()) as { data: { name: string }[] };
    expect(listed.data.map(({ name }) => name)).toEqual([GROUP]);
    await world.post({ width: 96 });
    expect((await queuesOf(world)).sort()).toEqual([GROUP, other]);
  });

  test("The paths of the board leave Hono's fast router to all others", async () => {
    const { app, ask } = await apiWorld(server.url);
    const response = await ask('GET', '/admin/queues/api/elsewhere');
    expect([response.status, response.headers.get('content-type')]).toEqual([
      404,
      'application/problem+json',
    ]);
    const refused = await ask('DELETE', '/admin/queues/api/queues', {});
    expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
    expect(app.router.name).toBe('SmartRouter + RegExpRouter');
  });

  test('The board says which tenants are paused, until they are resumed', async () => {
    const world = await apiWorld(server.url);
    await world.post();
    const described = async (): Promise<unknown> => {
      const response = await world.ask('GET', '/admin/queues/api/queues');
      const { queues } = (await response.json()) as { queues: { description?: string }[] };
      return queues[0].description;
    };
    expect(await described()).toBeUndefined();
    for (const tenant of ['acme', 'beta']) {
      await keyHolder(world, tenant);
      await world.ask('PUT', `/v1/pauses/tenant:${tenant}`, {});
    }
    expect(await described()).toBe('Paused tenants, whose jobs are not listed here: acme, beta');
    for (const tenant of ['acme', 'beta']) await world.ask('DELETE', `/v1/pauses/tenant:${tenant}`);
    expect(await described()).toBeUndefined();
  });

  test('The queue board is read-only', async () => {
    const world = await apiWorld(server.url);
    const { id } = await world.post();
    await queuesOf(world);
    const queue = `/admin/queues/api/queues/${encodeURIComponent(GROUP)}`;
    for (const [method, path, body] of [
      ['PUT', `${queue}/pause`],
      ['PUT', `${queue}/empty`],
      ['PUT', `${queue}/obliterate`, { force: true }],
      ['PUT', `${queue}/${id}/clean`],
      ['PUT', `${queue}/clean/prioritized`],
      ['PATCH', `${queue}/${id}/update-data`, { jobData: {} }],
      ['PATCH', `${queue}/${id}/priority`, { priority: 1 }],
      ['POST', `${queue}/add`, { name: 'x', data: {}, options: {} }],
      ['PUT', `${queue}/concurrency`, { concurrency: 1 }],
    ] as const) {
      const response = await world.ask(method, path, body ?? {});
      expect(response.status, path).toBe(405);
    }
    // These act on all queues at once and skip read-only ones.
    await world.ask('PUT', '/admin/queues/api/queues/pause', {});
    const { jobId } = await world.worker.take();
    expect(jobId).toBe(id);
  });

  test.each([
    ['text/plain', 'cross-site'],
    ['application/x-www-form-urlencoded', 'same-site'],
    [undefined, undefined],
  ])('A post to the board from another site is refused (%s, %s)', async (type, site) => {
    const world = await apiWorld(server.url);
    await world.post();
    await queuesOf(world);
    const response = await world.app.request(`/admin/queues/api/queues/${GROUP}/add`, {
      method: 'POST',
      headers: {
        authorization: basic('admin', API_KEY),
        origin: 'https://evil.example',
        ...(type && { 'content-type': type }),
        ...(site && { 'sec-fetch-site': site }),
      },
      body: '{"name":"x"}',
    });
    expect(response.status).toBe(403);
    expect(await problemOf(response)).toMatchObject({ type: 'urn:lehr:problem:forbidden' });
  });
});

describe.skipIf(!chromiumPath)('board in a browser', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchBrowser();
  });
  afterAll(() => browser.close());

  test('The queue board works in a browser, and asks no other server for anything', async () => {
    const world = await apiWorld(server.url);
    const { id } = await world.post();
    const listener = await listen('127.0.0.1', 0);
    onTestFinished(() => listener.close(0));
    listener.serve(world.app.fetch);
    const { page, complaints } = await openPage(browser, {
      httpCredentials: { username: 'admin', password: API_KEY },
    });
    const board = `http://127.0.0.1:${listener.port}/admin/queues`;
    await page.goto(board);
    await page.getByText(GROUP).first().waitFor();
    await page.goto(`${board}/queue/${encodeURIComponent(GROUP)}?status=prioritized`);
    await page.getByText(id).first().waitFor();
    expect(complaints).toEqual([]);
  });
});
