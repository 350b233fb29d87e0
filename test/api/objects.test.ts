import { ulid } from 'ulid';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sweepOutputs } from '../../apps/api/src/jobs/files/sweep-outputs.ts';
import { systemClock, toObjectKey } from '../../packages/shared/src/index.ts';
import { type ApiWorld, apiWorld, problemOf } from '../support/api-world.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const KEY = toObjectKey('out/default/job_1/0.png');

async function stored(world: ApiWorld): Promise<void> {
  await world.parts.store.put(KEY, Buffer.from('pixels'), { contentType: 'image/png' });
}

test('A signed link is read without a key, with its type and headers that forbid sniffing and scripts', async () => {
  const world = await apiWorld(server.url);
  await stored(world);
  const response = await world.app.request(await world.parts.store.link(KEY));
  expect(response.status).toBe(200);
  expect(await response.text()).toBe('pixels');
  expect(Object.fromEntries(response.headers)).toMatchObject({
    'content-type': 'image/png',
    'content-length': '6',
    'cache-control': 'private',
    'content-security-policy': "default-src 'none'; sandbox",
    'cross-origin-resource-policy': 'cross-origin',
    'x-content-type-options': 'nosniff',
    'x-request-id': expect.any(String),
  });
  expect(response.headers.has('content-disposition')).toBe(false);
});

test('A picture that is gone is no error for a page of this server, and a 404 for all others', async () => {
  let later = 0;
  const clock = { ...systemClock, now: () => Date.now() + later };
  const world = await apiWorld(server.url, { clock });
  const link = await world.parts.store.link(KEY);
  const ask = (headers: Record<string, string>) => world.app.request(link, { headers });
  const own = { 'sec-fetch-dest': 'image', 'sec-fetch-site': 'same-origin' };
  for (const status of [404, 410]) {
    const gone = await ask(own);
    expect([gone.status, gone.headers.get('cache-control'), await gone.text()]).toEqual([
      204,
      'no-store',
      '',
    ]);
    for (const other of [
      {},
      { ...own, 'sec-fetch-site': 'cross-site' },
      { ...own, 'sec-fetch-dest': 'empty' },
    ]) {
      expect((await ask(other)).status).toBe(status);
    }
    later = 86_400_000;
  }
});

test('An object link with a file name is downloaded under that name', async () => {
  const world = await apiWorld(server.url);
  await stored(world);
  const link = await world.parts.store.link(KEY, { filename: 'röd.png' });
  const { headers, body } = await world.app.request(link);
  await body?.cancel();
  expect(headers.get('content-disposition')).toBe(
    `attachment; filename="r_d.png"; filename*=UTF-8''r%C3%B6d.png`,
  );
});

test('A HEAD request for an object has the headers of GET without the bytes, and leaves no file open', async () => {
  const world = await apiWorld(server.url);
  await stored(world);
  let cancelled = 0;
  const { get } = world.parts.store;
  world.parts.store.get = async (key) => {
    const object = await get.call(world.parts.store, key);
    const cancel = object?.body.cancel.bind(object.body);
    if (object && cancel) {
      object.body.cancel = async () => {
        cancelled += 1;
        await cancel();
      };
    }
    return object;
  };
  const link = await world.parts.store.link(KEY);
  const head = await world.app.request(link, { method: 'HEAD' });
  expect(head.status).toBe(200);
  expect(head.headers.get('content-length')).toBe('6');
  expect(await head.text()).toBe('');
  const etag = head.headers.get('etag') ?? '';
  const again = await world.app.request(link, { headers: { 'if-none-match': etag } });
  expect(again.status).toBe(304);
  expect(cancelled).toBe(2);
});

test('A changed link is answered 403, an expired one 410, and a link to no object 404', async () => {
  const world = await apiWorld(server.url);
  await stored(world);
  const link = await world.parts.store.link(KEY, { expiresInS: 10 });
  const statusOf = async (url: string): Promise<number> => {
    const response = await world.app.request(url);
    expect(response.headers.get('content-type')).toBe('application/problem+json');
    return (await problemOf(response)).status;
  };
  expect(await statusOf(link.replace('0.png', '1.png'))).toBe(403);
  expect(await statusOf(link.replace(/expires=\d+/, 'expires=99999999999'))).toBe(403);
  expect(await statusOf(`${link}&name=evil.html`)).toBe(403);
  expect(await statusOf('/objects/out/default/job_1/0.png')).toBe(403);
  expect(await statusOf('/objects/../api-key?expires=1&sig=x')).toBe(404);
  expect(await statusOf('/objects/..%2f..%2fapi-key?expires=1&sig=x')).toBe(403);
  expect(await statusOf(await world.parts.store.link(toObjectKey('out/none')))).toBe(404);
  const later = { ...systemClock, now: () => Date.now() + 11_000 };
  const world2 = await apiWorld(server.url, { ...world.parts, clock: later });
  const expired = await world2.app.request(link);
  expect(expired.status).toBe(410);
  expect(await problemOf(expired)).toMatchObject({ type: 'urn:lehr:problem:gone' });
});

test('An API with an S3 store serves no objects', async () => {
  const world = await apiWorld(server.url, { linkSecret: undefined });
  expect((await world.app.request(await world.parts.store.link(KEY))).status).toBe(404);
});

test('A process whose clock jumped ahead deletes only the outputs that are old by the clock of Redis', async () => {
  const world = await apiWorld(server.url);
  const { store } = world.parts;
  const weekMs = 7 * 24 * 3_600_000;
  const output = (at: number) => toObjectKey(`out/default/job_${ulid(at).toLowerCase()}/lease/0.png`);
  const [old, young] = [output(Date.now() - weekMs - 1000), output(Date.now())];
  for (const key of [old, young]) await store.put(key, Buffer.from('pixels'), { contentType: 'image/png' });
  let sleeps = 0;
  const clock = {
    ...systemClock,
    now: () => Date.now() + 52 * weekMs,
    // The first sweep is due at once, and no other one.
    sleep: (ms: number, signal?: AbortSignal) =>
      sleeps++ === 0 ? Promise.resolve() : systemClock.sleep(ms, signal),
  };
  const stop = sweepOutputs({ ...world.parts, clock }, weekMs);
  await expect.poll(() => sleeps).toBe(2);
  await stop();
  const left: string[] = [];
  for await (const key of store.list('out/')) left.push(key);
  expect(left).toEqual([young]);
  expect(await world.parts.metricsPage.render()).toContain('lehr_janitor_actions_total{action="files"} 1');
});
