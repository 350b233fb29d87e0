/** POST /v1/embeddings with OpenAI's client. */
import OpenAI from 'openai';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { API_KEY } from '../support/api-world.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { embeddingOf, type TextWorld, textWorld } from '../support/text-world.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const clientOf = ({ url }: TextWorld): OpenAI =>
  new OpenAI({ apiKey: API_KEY, baseURL: `${url}/v1`, maxRetries: 0 });

test("OpenAI's client embeds a text, a list of texts, and token ids, and learns how many tokens they had", async () => {
  const world = await textWorld(server.url);
  const { embeddings } = clientOf(world);
  const one = await embeddings.create({ model: 'minilm', input: 'a red circle' });
  expect(one).toMatchObject({
    object: 'list',
    model: 'minilm@1',
    usage: { prompt_tokens: 5, total_tokens: 5 },
  });
  expect(one.data).toEqual([{ object: 'embedding', index: 0, embedding: embeddingOf('a red circle') }]);
  for (const input of [
    ['a', 'a red circle'],
    [[1], [1, 2, 3]],
  ]) {
    const { data } = await embeddings.create({ model: 'minilm', input: input as string[] });
    expect(data.map(({ embedding }) => embedding)).toEqual([embeddingOf('a'), embeddingOf('a red circle')]);
  }
  const ids = await embeddings.create({ model: 'minilm', input: [1, 2, 3], dimensions: 2 });
  expect(ids.data.map(({ embedding }) => embedding)).toEqual([embeddingOf([1, 2, 3]).slice(0, 2)]);
});

test('Embeddings come as numbers or, on request, as base64 of 32-bit floats', async () => {
  const world = await textWorld(server.url);
  const ask = async (encoding_format?: string): Promise<unknown> => {
    const answer = await world.ask('POST', '/v1/embeddings', { input: 'a', encoding_format });
    const { data } = (await answer.json()) as { data: { embedding: unknown }[] };
    return data[0]?.embedding;
  };
  expect(await ask()).toEqual(embeddingOf('a'));
  const bytes = Buffer.from((await ask('base64')) as string, 'base64');
  expect([...new Float32Array(new Uint8Array(bytes).buffer)]).toEqual(embeddingOf('a'));
});

test('A result above 32 kB is stored as an object and answered whole', async () => {
  const world = await textWorld(server.url);
  const input = Array.from({ length: 2048 }, (_, i) => `a longer text ${i}`);
  const { data } = await clientOf(world).embeddings.create({ model: 'minilm', input });
  expect(data).toHaveLength(2048);
  expect(data[2047]).toEqual({
    object: 'embedding',
    index: 2047,
    embedding: embeddingOf('a longer text 2047'),
  });
  const [job] = ((await (await world.ask('GET', '/v1/jobs')).json()) as { data: { output: object }[] }).data;
  expect(job).toMatchObject({ type: 'text-embedding', input: { texts: { count: 2048 } } });
  expect(job?.output).toEqual({
    tokens: 2048 * 6,
    result_url: expect.any(String),
    result_expires_at: expect.any(String),
  });
});

test("Refusals name OpenAI's fields, also those that only a worker can make", async () => {
  const world = await textWorld(server.url);
  const refused = async (fields: object) => {
    const body = { model: 'minilm', input: 'a', ...fields };
    return clientOf(world)
      .embeddings.create(body)
      .then(() => undefined)
      .catch(({ status, code, param, message }) => ({ status, code, param, message }));
  };
  expect(await refused({ model: 'nothing' })).toMatchObject({ status: 404, code: 'model_not_found' });
  expect(await refused({ model: 'words' })).toMatchObject({ status: 404, code: 'model_not_found' });
  expect(await refused({ input: [] })).toMatchObject({ status: 400, param: 'input' });
  expect(await refused({ dimensions: 0 })).toMatchObject({ status: 400, param: 'dimensions' });
  expect(await refused({ input: Array.from({ length: 2049 }, () => 'a') })).toMatchObject({ status: 400 });
  expect(await refused({ input: ['a', 'a b c d e f g h i j k l'] })).toMatchObject({
    status: 400,
    param: 'input.1',
    message: expect.stringContaining('has 14 tokens, and minilm@1 takes at most 12'),
  });
});
