/** Small bodies that are nested deeply or whose parts have no name are refused, and nothing is stored for them. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ApiWorld, apiWorld } from '../support/api-world.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const nested = (depth: number): string => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;

async function storedObjects({ parts }: ApiWorld): Promise<string[]> {
  const keys: string[] = [];
  for await (const key of parts.store.list('in/')) keys.push(key);
  return keys;
}

test('Metadata that is nested 6,000 levels deep is a 422, and its file is not stored', async () => {
  const world = await apiWorld(server.url);
  const upload = (metadata: string, filename?: string) => {
    const body = new FormData();
    body.set('content', new Blob(['bytes']), 'a.wav');
    if (filename === undefined) body.set('metadata', metadata);
    else body.set('metadata', new Blob([metadata]), filename);
    return world.ask('POST', '/v1/files', undefined, { body });
  };
  for (const filename of [undefined, 'metadata.json']) {
    const answer = await upload(nested(6000), filename);
    expect(answer.status).toBe(422);
    expect(await answer.json()).toMatchObject({
      errors: [
        { pointer: '/metadata', detail: 'must be a JSON object of at most 10000 values and 64 levels' },
      ],
    });
  }
  expect(await storedObjects(world)).toEqual([]);
  expect((await upload('{"order":{"id":81}}')).status).toBe(201);
});

const PICTURE = '"prompt":"a circle","width":64,"height":64';

test.each([
  ['/t2i', `{${PICTURE},"extra":${nested(10_000)}}`],
  ['/v1/images/generations', `{"prompt":"a circle","extra":${nested(10_000)}}`],
  ['/v1/jobs', `{"type":"text-to-image","input":{${PICTURE}},"extra":${nested(10_000)}}`],
  ['/v1/embeddings', `{"input":"a circle","extra":${nested(10_000)}}`],
  ['/models/tiny', `{"inputs":"a circle","extra":${nested(10_000)}}`],
  ['/v1/models/lehr/tiny/predictions', `{"input":{"prompt":"a circle"},"extra":${nested(10_000)}}`],
  ['/v1/models/lehr/tiny/predictions', `{"input":{"prompt":"a circle","extra":${nested(10_000)}}}`],
])('An unknown field of %s that is nested 10,000 levels deep is a 400', async (path, body) => {
  const world = await apiWorld(server.url);
  const answer = await world.ask('POST', path, body);
  expect(answer.status).toBe(400);
  expect(await answer.text()).toContain('is nested more than 64 levels deep');
  expect(await world.parts.redis.zcard(world.parts.keys.live)).toBe(0);
});

test.each(['/v1/audio/transcriptions', '/v1/audio/translations', '/v1/images/edits', '/v1/files'])(
  'A part without a name is a 400 of %s, and nothing is stored',
  async (path) => {
    const world = await apiWorld(server.url);
    const file = 'filename="a.wav"\r\n\r\nbytes\r\n';
    for (const head of [
      'content-disposition: form-data',
      'content-disposition: form-data; name=""',
      'x-y: z',
    ]) {
      const body = `--x\r\n${head}\r\n\r\nvalue\r\n--x\r\ncontent-disposition: form-data; name="file"; ${file}--x--\r\n`;
      const headers = { 'content-type': 'multipart/form-data; boundary=x' };
      const answer = await world.ask('POST', path, body, { headers });
      expect(answer.status).toBe(400);
      expect(await answer.text()).toContain('Every part of the body must have a name');
    }
    expect(await storedObjects(world)).toEqual([]);
  },
);
