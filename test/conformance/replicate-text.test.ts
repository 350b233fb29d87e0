/** Text models with Replicate's client, and text jobs over the native channels. */
import Replicate from 'replicate';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { replicateRenderer } from '../../apps/api/src/dialects/replicate/predictions-view.ts';
import { Lehr } from '../../packages/client/src/index.ts';
import type { JobId } from '../../packages/shared/src/index.ts';
import { API_KEY, jobOf } from '../support/api-world.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { answerStored, embeddingOf, textWorld } from '../support/text-world.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

test("Replicate's client runs the first task of a text model, and its schema names the fields", async () => {
  const { url } = await textWorld(server.url);
  const replicate = new Replicate({ baseUrl: `${url}/v1`, auth: API_KEY });
  const embedded = await replicate.run('lehr/minilm', { input: { texts: ['a', 'b c'] } });
  expect(embedded).toEqual({ embeddings: ['a', 'b c'].map(embeddingOf), dimensions: 4, tokens: 7 });
  const filled = await replicate.run('lehr/words', { input: { texts: ['a [MASK]'], top_k: 1 } });
  expect(filled).toMatchObject({ fills: [[[{ token_str: 'circle' }]]] });
  const model = await replicate.models.get('lehr', 'minilm');
  const schema = model.latest_version?.openapi_schema as {
    components: { schemas: { Input: { properties: object; required: string[] } } };
  };
  const { properties, required } = schema.components.schemas.Input;
  expect(Object.keys(properties)).toEqual(['texts', 'truncate', 'normalize', 'dimensions']);
  expect(required).toEqual(['texts']);
  const refused = replicate.run('lehr/minilm', { input: { texts: ['a'], top_k: 1 } });
  await expect(refused).rejects.toThrow(/top_k is not a known field/);
});

/** A stored result with so many embeddings. */
const embeddings = (texts: number) => ({
  embeddings: Buffer.from(new Float32Array(texts * 1024).fill(0.5).buffer).toString('base64'),
  dimensions: 1024,
});

test("Replicate's client gets a link in the place of a result that is too large for a prediction", async () => {
  const world = await textWorld(server.url, {}, false);
  const replicate = new Replicate({ baseUrl: `${world.url}/v1`, auth: API_KEY });
  const stored = embeddings(96);
  const [output] = await Promise.all([
    replicate.run('lehr/minilm', { input: { texts: ['a'] } }),
    answerStored(world, 'text.minilm@1', stored, 7),
  ]);
  const { tokens, result_url: link } = output as { tokens: number; result_url: string };
  expect(tokens).toBe(7);
  expect(await (await fetch(link)).json()).toEqual(stored);
});

test('A webhook of a prediction has a link to the result of its texts when the result is too large for it', async () => {
  const world = await textWorld(server.url, {}, false);
  const body = { version: 'lehr/minilm', input: { texts: ['a'] } };
  const created = await world.ask('POST', '/v1/predictions', body);
  await answerStored(world, 'text.minilm@1', embeddings(16), 7);
  const { id } = (await created.json()) as { id: string };
  const record = await world.parts.records.read(`job_${id}` as JobId);
  if (!record) throw new Error('The prediction has no record.');
  const { output } = (await replicateRenderer(world.parts).render(record, 'job.succeeded')) as {
    output: unknown;
  };
  expect(output).toEqual({
    tokens: 7,
    result_url: expect.stringMatching(/^http/),
    result_expires_at: expect.any(String),
  });
  const whole = (await (await world.ask('GET', `/v1/predictions/${id}`)).json()) as {
    output: { embeddings: number[][] };
  };
  expect(whole.output.embeddings).toHaveLength(16);
});

test('A text job is answered by a held post, by polling, and by its events', async () => {
  const world = await textWorld(server.url);
  const body = { type: 'text-classification', input: { texts: ['a red circle'], top_k: 1 } };
  const held = await jobOf(await world.ask('POST', '/v1/jobs?wait=30', body));
  expect(held).toMatchObject({
    status: 'succeeded',
    model: 'words@1',
    input: { texts: ['a red circle'], truncate: false, top_k: 1, function: null },
    output: { labels: [[{ label: 'one', score: 0.75 }]], tokens: 5 },
    metrics: { timings: { tokenize: 1, run: 1 } },
  });
  expect(await world.get(held.id)).toEqual(held);
  const lehr = new Lehr({ url: world.url, apiKey: API_KEY });
  const events: string[] = [];
  for await (const event of lehr.stream(held.id)) {
    events.push(event.type);
    if (event.type === 'job.succeeded') expect(event.data.output).toEqual(held.output);
  }
  expect(events.at(-1)).toBe('job.succeeded');
});

test('A text request with a fault is refused before a job is made, with the place of the fault', async () => {
  const world = await textWorld(server.url, {}, false);
  const pointers = async (type: string, input: object): Promise<unknown> => {
    const answer = await world.ask('POST', '/v1/jobs', { type, input });
    const { errors } = (await answer.json()) as { errors?: { pointer: string }[] };
    return [answer.status, ...(errors ?? []).map(({ pointer }) => pointer)];
  };
  expect(await pointers('text-embedding', { texts: [] })).toEqual([422, '/input/texts']);
  expect(await pointers('text-embedding', { texts: ['a', 3] })).toEqual([422, '/input/texts/1']);
  expect(await pointers('fill-mask', { texts: [{ text: 'a', pair: 'b' }] })).toEqual([422, '/input/texts/0']);
  expect(await pointers('fill-mask', { texts: Array(101).fill('a') })).toEqual([422, '/input/texts']);
  expect(await pointers('text-classification', { texts: ['a'], top_k: 0 })).toEqual([422, '/input/top_k']);
  expect(await pointers('text-embedding', { texts: ['a'], pooling: 'mean' })).toEqual([
    422,
    '/input/pooling',
  ]);
  expect(await world.parts.redis.zcard(world.parts.keys.live)).toBe(0);
});
