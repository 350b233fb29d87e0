import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { DEFAULT_TENANT } from '../../packages/shared/src/index.ts';
import { type ApiWorld, apiWorld, problemOf } from '../support/api-world.ts';
import { keyHolder } from '../support/key-holder.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

/** Uploads one file with this content type in the header of its part. */
function upload({ ask }: ApiWorld, partType: string, ...more: readonly string[]): Promise<Response> {
  const parts = [
    `content-disposition: form-data; name="content"; filename="a.wav"\r\ncontent-type: ${partType}\r\n\r\nbytes`,
    ...more,
  ];
  const body = `${parts.map((part) => `--x\r\n${part}\r\n`).join('')}--x--\r\n`;
  return ask('POST', '/v1/files', body, { headers: { 'content-type': 'multipart/form-data; boundary=x' } });
}

test('A file with an invalid media type is stored as application/octet-stream', async () => {
  const world = await apiWorld(server.url);
  const types = ['audio/wav', 'sound', 'a/b/c', `audio/${'x'.repeat(300)}`, 'audio/wäv', '/'];
  const answers = await Promise.all(types.map((type) => upload(world, type)));
  expect(answers.map(({ status }) => status)).toEqual(types.map(() => 201));
  const files = (await Promise.all(answers.map((answer) => answer.json()))) as { content_type: string }[];
  const stored = files.map(({ content_type }) => content_type);
  expect(stored[0]).toBe('audio/wav');
  expect(new Set(stored.slice(1))).toEqual(new Set(['application/octet-stream']));
});

test('An upload with long metadata is answered 413', async () => {
  const world = await apiWorld(server.url);
  const metadata = (text: string, head: string): string =>
    `content-disposition: form-data; name="metadata"${head}\r\n\r\n${JSON.stringify({ text })}`;
  for (const head of ['', '; filename="metadata.json"\r\ncontent-type: application/json']) {
    expect((await upload(world, 'audio/wav', metadata('short', head))).status).toBe(201);
    const refused = await upload(world, 'audio/wav', metadata('long'.repeat(50_000), head));
    expect(refused.status).toBe(413);
    expect(await problemOf(refused)).toMatchObject({ type: 'urn:lehr:problem:too-large' });
  }
});

test('An upload with a file name of more than 255 bytes is answered 413', async () => {
  const world = await apiWorld(server.url);
  const named = (name: string): Promise<Response> => {
    const part = `content-disposition: form-data; name="content"; filename="${name}"\r\n\r\nbytes`;
    const headers = { 'content-type': 'multipart/form-data; boundary=x' };
    return world.ask('POST', '/v1/files', `--x\r\n${part}\r\n--x--\r\n`, { headers });
  };
  expect((await named('x'.repeat(255))).status).toBe(201);
  const refused = await named('x'.repeat(256));
  expect(refused.status).toBe(413);
  expect(await problemOf(refused)).toMatchObject({ type: 'urn:lehr:problem:too-large' });
});

test('Uploads of one tenant that never end leave room for the uploads of other tenants', async () => {
  const world = await apiWorld(server.url);
  const { ask } = await keyHolder(world, 'slow');
  const ends: (() => void)[] = [];
  const endless = (): ReadableStream =>
    new ReadableStream({ start: (controller) => void ends.push(() => controller.close()) });
  const headers = { 'content-type': 'multipart/form-data; boundary=x' };
  const slow = Array.from({ length: 20 }, () =>
    ask('POST', '/v1/files', undefined, { headers, body: endless(), duplex: 'half' } as RequestInit),
  );
  const first = await Promise.race(slow);
  expect([first.status, first.headers.get('retry-after')]).toEqual([503, '1']);
  expect((await upload(world, 'audio/wav')).status).toBe(201);
  for (const end of ends) end();
  const statuses = (await Promise.all(slow)).map(({ status }) => status);
  expect(new Set(statuses)).toEqual(new Set([503, 400]));
  expect((await upload({ ...world, ask }, 'audio/wav')).status).toBe(201);
});

test('A large file of lines whose upload breaks off leaves nothing in the store, and counts as nothing', async () => {
  const world = await apiWorld(server.url);
  const { ask, parts } = world;
  const head = '--x\r\ncontent-disposition: form-data; name="file"; filename="a.jsonl"\r\n\r\n';
  const headers = { 'content-type': 'multipart/form-data; boundary=x' };
  const puts = vi.spyOn(parts.store, 'put');
  const response = await ask('POST', '/v1/files', head + '{"a": 1}\n'.repeat(400_000), { headers });
  expect(response.status).toBe(400);
  expect(puts).toHaveBeenCalled();
  const left: string[] = [];
  for await (const key of parts.store.list('in/')) left.push(key);
  expect(left).toEqual([]);
  expect(await parts.storage.usage(DEFAULT_TENANT)).toEqual({ stored_mb: 0, uploaded_mb: 0 });
});
