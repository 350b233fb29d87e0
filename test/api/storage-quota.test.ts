/** What a tenant may store and upload: enforced before and while a body is read, and freed by deletion and expiry. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Files } from '../../apps/api/src/jobs/files/files.ts';
import { StorageQuota } from '../../apps/api/src/jobs/space/storage-quota.ts';
import { ApiKeyListSchema, LehrError, parseRegistry } from '../../packages/shared/src/index.ts';
import { type ApiWorld, apiWorld, jobOf, MODELS, problemOf } from '../support/api-world.ts';
import { type KeyHolder, keyHolder } from '../support/key-holder.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const HALF_MB = 500_000;
const bytesOf = (length: number): Blob => new Blob([new Uint8Array(length)]);

function upload({ ask }: Pick<KeyHolder, 'ask'>, length = HALF_MB): Promise<Response> {
  const body = new FormData();
  body.set('content', bytesOf(length), 'a.wav');
  return ask('POST', '/v1/files', undefined, { body });
}

async function expectRefusal(
  response: Response,
  limit: 'max_stored_mb' | 'upload_mb_per_day',
): Promise<void> {
  expect(response.status).toBe(429);
  const { type, detail } = await problemOf(response);
  expect(type).toBe('urn:lehr:problem:rate-limited');
  expect(detail).toContain(`(${limit})`);
  expect(response.headers.get('ratelimit-limit')).toBe('1');
  expect(Number(response.headers.get('retry-after'))).toBeLessThanOrEqual(60);
}

async function usageOf(world: ApiWorld, tenant = 'acme') {
  const { data } = ApiKeyListSchema.parse(await (await world.ask('GET', '/v1/keys')).json());
  return data.find((key) => key.tenant === tenant)?.usage;
}

/** A world with a speech model. */
async function listeningWorld(change: Parameters<typeof apiWorld>[1] = {}): Promise<ApiWorld> {
  const models = `${MODELS}  - { name: ears, task: whisper, versions: [{ version: "1", path: ears }] }\n`;
  return apiWorld(server.url, { registry: parseRegistry(models), ...change });
}

/** A workflow with a recording of each size inside the request. */
const recordings = (...sizes: number[]) => ({
  type: 'workflow',
  nodes: sizes.map((size, i) => ({
    id: `listen${i}`,
    type: 'speech-to-text',
    input: { audio: `data:audio/wav;base64,${Buffer.alloc(size).toString('base64')}` },
  })),
});

const MULTIPART = { 'content-type': 'multipart/form-data; boundary=x' };
const HEAD = '--x\r\ncontent-disposition: form-data; name="content"; filename="a.wav"\r\n\r\n';

/** A body that counts how much of it was read. */
function counted(totalBytes: number) {
  const seen = { bytes: 0 };
  const body = new ReadableStream(
    {
      start: (to) => to.enqueue(Buffer.from(HEAD)),
      pull: (to) => {
        if (seen.bytes >= totalBytes) return to.close();
        seen.bytes += 65_536;
        to.enqueue(Buffer.alloc(65_536));
      },
    },
    { highWaterMark: 0 },
  );
  return { seen, body };
}

describe('max_stored_mb', () => {
  const limits = { max_stored_mb: 1 };

  test('The uploads of all keys of a tenant count together, and deleting a file frees its space', async () => {
    const world = await apiWorld(server.url);
    const [one, two] = [
      await keyHolder(world, 'acme', { limits }),
      await keyHolder(world, 'acme', { limits }),
    ];
    const first = (await (await upload(one)).json()) as { id: string };
    expect((await upload(two, 400_000)).status).toBe(201);
    await expectRefusal(await upload(one), 'max_stored_mb');
    expect((await upload(await keyHolder(world, 'other', { limits }))).status).toBe(201);
    const used = await usageOf(world);
    expect(used?.stored_mb).toBeGreaterThan(0.9);
    expect(used?.stored_mb).toBeLessThan(0.91);
    expect((await one.ask('DELETE', `/v1/files/${first.id}`)).status).toBe(204);
    expect((await usageOf(world))?.stored_mb).toBeLessThan(0.41);
    expect((await upload(two)).status).toBe(201);
  });

  test('Of uploads that arrive together, no more are stored than the limit allows', async () => {
    const world = await apiWorld(server.url);
    const holder = await keyHolder(world, 'acme', { limits });
    const answers = await Promise.all(Array.from({ length: 6 }, () => upload(holder, 300_000)));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(3);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(3);
    expect((await usageOf(world))?.stored_mb).toBeLessThanOrEqual(1);
  });

  test('A stated length above the space is refused before the body is read, an unstated one while it is read', async () => {
    const world = await apiWorld(server.url);
    const holder = await keyHolder(world, 'acme', { limits });
    await upload(holder, 900_000);
    const send = (body: ReadableStream, headers: object) =>
      holder.ask('POST', '/v1/files', undefined, {
        body,
        duplex: 'half',
        headers: { ...MULTIPART, ...headers },
      } as RequestInit);
    const stated = counted(800_000);
    await expectRefusal(await send(stated.body, { 'content-length': '800000' }), 'max_stored_mb');
    expect(stated.seen.bytes).toBe(0);
    const unstated = counted(100_000_000);
    await expectRefusal(await send(unstated.body, {}), 'max_stored_mb');
    expect(unstated.seen.bytes).toBeLessThan(400_000);
  });

  test('An upload that has expired no longer counts', async () => {
    const world = await apiWorld(server.url);
    const { redis, keys, store, clock } = world.parts;
    const storage = new StorageQuota({ redis, keys, ttlMs: 1 });
    const files = new Files({ redis, keys, store, storage, clock, ttlMs: 60_000, maxBytes: 1_000_000 });
    const brief = await apiWorld(server.url, { keys, redis, store, storage, files });
    const holder = await keyHolder(brief, 'acme', { limits });
    for (let i = 0; i < 4; i++) {
      await expect.poll(async () => (await storage.usage('acme' as never)).stored_mb).toBe(0);
      expect((await upload(holder)).status).toBe(201);
    }
    expect((await usageOf(brief))?.uploaded_mb).toBeGreaterThanOrEqual(2);
  });

  test('A file that the store does not take counts neither as stored nor as uploaded', async () => {
    const world = await apiWorld(server.url);
    const { redis, keys, storage, clock } = world.parts;
    const full = { value: () => Promise.reject(new LehrError('storage-failed', 'The disk is full.')) };
    const store = Object.create(world.parts.store, { put: full });
    const files = new Files({ redis, keys, store, storage, clock, ttlMs: 60_000, maxBytes: 1_000_000 });
    const broken = await apiWorld(server.url, { keys, redis, store, storage, files });
    const holder = await keyHolder(broken, 'acme', { limits });
    for (let i = 0; i < 3; i++) expect((await upload(holder)).status).toBe(503);
    expect(await usageOf(broken)).toEqual({ stored_mb: 0, uploaded_mb: 0 });
  });

  test('What Redis keeps in memory counts for more: a small file as 64 kB, and a byte of metadata as 100', async () => {
    const world = await apiWorld(server.url);
    const holder = await keyHolder(world, 'acme', { limits });
    for (let i = 0; i < 3; i++) await upload(holder, 1);
    expect((await usageOf(world))?.stored_mb).toBe(0.192);
    const body = new FormData();
    body.set('content', bytesOf(1), 'a.wav');
    body.set('metadata', JSON.stringify({ note: 'x'.repeat(10_000) }));
    await expectRefusal(await holder.ask('POST', '/v1/files', undefined, { body }), 'max_stored_mb');
  });

  test('Audio inside a request counts until its job is deleted', async () => {
    const world = await listeningWorld();
    const { ask } = await keyHolder(world, 'acme', { limits });
    const audio = `data:audio/wav;base64,${Buffer.alloc(400_000).toString('base64')}`;
    const listen = () => ask('POST', '/v1/jobs', { type: 'speech-to-text', input: { audio } });
    const { id } = await jobOf(await listen());
    expect((await listen()).status).toBe(202);
    await expectRefusal(await listen(), 'max_stored_mb');
    await ask('POST', `/v1/jobs/${id}/cancel`);
    expect((await ask('DELETE', `/v1/jobs/${id}`)).status).toBe(204);
    expect((await usageOf(world))?.stored_mb).toBe(0.4);
    expect((await listen()).status).toBe(202);
  });
});

test('A workflow of which one recording cannot be stored leaves no recording stored or counted', async () => {
  const world = await listeningWorld();
  const { redis, keys, storage } = world.parts;
  const deleted: string[] = [];
  let puts = 0;
  const store = Object.create(world.parts.store, {
    put: {
      value: (...args: Parameters<typeof world.parts.store.put>) => {
        puts += 1;
        if (puts === 2) return Promise.reject(new LehrError('storage-failed', 'The disk is full.'));
        return world.parts.store.put(...args);
      },
    },
    delete: {
      value: async (key: Parameters<typeof world.parts.store.delete>[0]) => {
        await world.parts.store.delete(key);
        deleted.push(key);
      },
    },
  });
  const broken = await listeningWorld({ keys, redis, store, storage });
  const { ask } = await keyHolder(broken, 'acme', { limits: { max_stored_mb: 1 } });
  expect((await ask('POST', '/v1/jobs', recordings(100_000, 200_000, 300_000))).status).toBe(503);
  expect(puts).toBe(3);
  expect(deleted).toHaveLength(2);
  expect(await usageOf(broken)).toEqual({ stored_mb: 0, uploaded_mb: 0 });
});

test('Recordings that do not fit together are refused before the job takes a place, and a repeat of a stored one is not', async () => {
  const world = await listeningWorld();
  const { redis, keys } = world.parts;
  const { ask } = await keyHolder(world, 'acme', { limits: { max_stored_mb: 1 } });
  expect((await upload({ ask }, 700_000)).status).toBe(201);
  const used = await usageOf(world);
  await expectRefusal(await ask('POST', '/v1/jobs', recordings(200_000, 200_000)), 'max_stored_mb');
  expect(await redis.hlen(keys.reserved)).toBe(0);
  expect(await redis.zcard(keys.liveOf('acme' as never))).toBe(0);
  expect(await usageOf(world)).toEqual(used);
  const once = { headers: { 'idempotency-key': 'once' } };
  const first = await jobOf(await ask('POST', '/v1/jobs', recordings(100_000, 100_000), once));
  const again = await ask('POST', '/v1/jobs', recordings(100_000, 100_000), once);
  expect((await jobOf(again)).id).toBe(first.id);
});

test('upload_mb_per_day counts uploads that were deleted too, until they are a day old', async () => {
  const world = await apiWorld(server.url);
  const holder = await keyHolder(world, 'acme', { limits: { upload_mb_per_day: 1 } });
  const uploadAndDelete = async () => {
    const answer = await upload(holder, 450_000);
    const { id } = (await answer.json()) as { id: string };
    await holder.ask('DELETE', `/v1/files/${id}`);
    return answer.status;
  };
  expect([await uploadAndDelete(), await uploadAndDelete()]).toEqual([201, 201]);
  await expectRefusal(await upload(holder), 'upload_mb_per_day');
  expect(await usageOf(world)).toMatchObject({ stored_mb: 0 });
  // The same uploads, 24 hours earlier.
  const { redis, keys } = world.parts;
  const storage = keys.storage('acme' as never);
  for (const [hour, bytes] of Object.entries(await redis.hgetall(storage))) {
    if (hour === 'stored') continue;
    await redis.hdel(storage, hour);
    await redis.hset(storage, String(Number(hour) - 24), bytes);
  }
  expect(await usageOf(world)).toEqual({ stored_mb: 0, uploaded_mb: 0 });
  expect((await upload(holder)).status).toBe(201);
});

test('The configured key may store and upload without a limit', async () => {
  const world = await apiWorld(server.url);
  for (let i = 0; i < 3; i++) expect((await upload(world)).status).toBe(201);
});
