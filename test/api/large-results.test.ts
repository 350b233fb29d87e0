/** Results of text jobs that are too large to be shown in a job. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { nativeRenderer } from '../../apps/api/src/dialects/native/native-renderer.ts';
import { LargeAnswers } from '../../apps/api/src/jobs/large-answers.ts';
import type { Job, JobId, ObjectKey } from '../../packages/shared/src/index.ts';
import { API_KEY } from '../support/api-world.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { answerStored, type TextWorld, textWorld } from '../support/text-world.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const DIMENSIONS = 1024;
const numbersOf = (texts: number): Float32Array =>
  Float32Array.from({ length: texts * DIMENSIONS }, (_, i) => Math.fround(i / 10));

/** Answers the next job with so many embeddings, stored as an object. */
const answer = (world: TextWorld, texts: number): Promise<void> =>
  answerStored(
    world,
    'text.minilm@1',
    { embeddings: Buffer.from(numbersOf(texts).buffer).toString('base64'), dimensions: DIMENSIONS },
    3 * texts,
  );

async function jobOf(world: TextWorld, texts: number): Promise<Job> {
  const input = { texts: Array.from({ length: texts }, () => 'a') };
  const [response] = await Promise.all([
    world.ask('POST', '/v1/jobs?wait=30', { type: 'text-embedding', input }),
    answer(world, texts),
  ]);
  return (await response.json()) as Job;
}

test('A job shows 65,536 numbers, and a link in the place of more', async () => {
  const world = await textWorld(server.url, {}, false);
  const small = await jobOf(world, 64);
  expect(small.output?.embeddings?.flat()).toEqual([...numbersOf(64)]);
  const large = await jobOf(world, 96);
  expect(large.output).toEqual({
    tokens: 288,
    result_url: expect.stringMatching(/^http/),
    result_expires_at: expect.any(String),
  });
  expect(await (await world.ask('GET', `/v1/jobs/${large.id}`)).json()).toMatchObject({
    output: { result_url: expect.any(String) },
  });
});

test('A webhook has a link to a stored result and does not read it', async () => {
  const world = await textWorld(server.url, {}, false);
  const { id } = await jobOf(world, 64);
  const record = await world.parts.records.read(id as JobId);
  if (!record) throw new Error('The job has no record.');
  const event = await nativeRenderer(world.parts.presenter).render(record, 'job.succeeded');
  expect(event).toMatchObject({ data: { output: { tokens: 192, result_url: expect.any(String) } } });
  expect(JSON.stringify(event)).not.toContain('"embeddings":');
});

test.each(['/models/minilm', '/v1/embeddings'])(
  '%s answers with every number of a large result',
  async (path) => {
    const world = await textWorld(server.url, {}, false);
    const texts = Array.from({ length: 96 }, () => 'a');
    const [response] = await Promise.all([
      world.ask('POST', path, { inputs: texts, input: texts }),
      answer(world, 96),
    ]);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/json');
    const numbers = numbersOf(96);
    const embeddings = texts.map((_, i) => [...numbers.subarray(i * DIMENSIONS, (i + 1) * DIMENSIONS)]);
    const list = {
      object: 'list',
      data: embeddings.map((embedding, index) => ({ object: 'embedding', index, embedding })),
      model: 'minilm@1',
      usage: { prompt_tokens: 288, total_tokens: 288 },
    };
    expect(await response.text()).toBe(JSON.stringify(path === '/v1/embeddings' ? list : embeddings));
  },
);

test('A large answer has what a call asks for: base64, and entities by the name of their field', async () => {
  const world = await textWorld(server.url, {}, false);
  const texts = Array.from({ length: 96 }, () => 'a');
  const [encoded] = await Promise.all([
    world.ask('POST', '/v1/embeddings', { input: texts, encoding_format: 'base64' }),
    answer(world, 96),
  ]);
  const { data } = (await encoded.json()) as { data: { embedding: string }[] };
  const floats = Buffer.from(data[95]?.embedding ?? '', 'base64');
  expect(floats.readFloatLE(4)).toBe(numbersOf(96)[95 * DIMENSIONS + 1]);
  const entity = { label: 'B-PER', score: 0.5, word: 'Ada', start: 0, end: 3 };
  const entities = texts.map(() => Array.from({ length: 100 }, () => entity));
  const ask = { inputs: texts, parameters: { aggregation_strategy: 'none' } };
  const [named] = await Promise.all([
    world.ask('POST', '/models/words/pipeline/token-classification', ask),
    answerStored(world, 'text.words@1', { entities }),
  ]);
  const { label, ...rest } = entity;
  const found = texts.map(() => Array.from({ length: 100 }, () => ({ entity: label, ...rest })));
  expect(await named.text()).toBe(JSON.stringify(found));
});

/** In place of the thread that writes: it answers a task when it is allowed to. */
const HELD_THREAD = `
  import { parentPort } from 'node:worker_threads';
  const channel = new BroadcastChannel('large-results.test');
  parentPort.on('message', ({ id }) => {
    channel.onmessage = () => {
      parentPort.postMessage({ type: 'written', id, json: new TextEncoder().encode('["written"]') });
      channel.close();
    };
    channel.postMessage('begun');
  });`;

test('Other requests are answered while a large answer is written', async () => {
  const largeAnswers = new LargeAnswers(new URL(`data:text/javascript,${encodeURIComponent(HELD_THREAD)}`));
  const world = await textWorld(server.url, { largeAnswers }, false);
  const channel = new BroadcastChannel('large-results.test');
  const begun = new Promise((resolve) => {
    channel.onmessage = resolve;
  });
  const inputs = Array.from({ length: 96 }, () => 'a');
  const call = world.ask('POST', '/models/minilm', { inputs });
  await answer(world, 96);
  await begun;
  expect((await world.ask('GET', '/v1/models')).status).toBe(200);
  channel.postMessage('write');
  expect(await (await call).text()).toBe('["written"]');
  channel.close();
  await largeAnswers.close();
});

test('A call whose large answer could not be written gets the finished job when it is sent again', async () => {
  const ending = `import { parentPort } from 'node:worker_threads'; parentPort.on('message', () => process.exit(1));`;
  const largeAnswers = new LargeAnswers(new URL(`data:text/javascript,${encodeURIComponent(ending)}`), []);
  const broken = await textWorld(server.url, { largeAnswers }, false);
  const ask = { input: Array.from({ length: 96 }, () => 'a') };
  const [refused] = await Promise.all([broken.ask('POST', '/v1/embeddings', ask), answer(broken, 96)]);
  expect(refused.status).toBe(503);
  const { keys, store } = broken.parts;
  const sound = await textWorld(server.url, { keys, store }, false);
  // No worker answers this call.
  const again = await sound.ask('POST', '/v1/embeddings', ask);
  expect(again.status).toBe(200);
  expect(((await again.json()) as { data: unknown[] }).data).toHaveLength(96);
});

test('A large answer counts as unsent until its caller has read it, and not longer', async () => {
  const entry = new URL('../../apps/api/dist/dialects/large-answer-thread.js', import.meta.url);
  const largeAnswers = new LargeAnswers(entry, [], { ofTenant: 1, total: 1 });
  const world = await textWorld(server.url, { largeAnswers }, false);
  const body = JSON.stringify({ inputs: Array.from({ length: 96 }, () => 'a') });
  const headers = { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' };
  for (let i = 0; i < 2; i++) {
    const call = fetch(`${world.url}/models/minilm`, { method: 'POST', headers, body });
    const [response] = await Promise.all([call, answer(world, 96)]);
    expect([response.status, ((await response.json()) as unknown[]).length]).toEqual([200, 96]);
  }
  await largeAnswers.close();
});

test('A large result that has been deleted, or cannot be read, is an error with its status', async () => {
  const world = await textWorld(server.url, {}, false);
  const inputs = Array.from({ length: 96 }, () => 'a');
  const [damaged] = await Promise.all([
    world.ask('POST', '/models/minilm', { inputs }),
    answerStored(world, 'text.minilm@1', `{"embeddings": 3}${' '.repeat(400_000)}`),
  ]);
  expect(damaged.status).toBe(500);
  const { store } = world.parts;
  const get = store.get.bind(store);
  const keys: string[] = [];
  Object.assign(store, {
    get: async (key: ObjectKey) => {
      const object = await get(key);
      keys.push(key);
      await store.delete(key);
      return object;
    },
  });
  const [gone] = await Promise.all([world.ask('POST', '/models/minilm', { inputs }), answer(world, 96)]);
  expect(gone.status).toBe(410);
  expect(keys).toHaveLength(2);
});
