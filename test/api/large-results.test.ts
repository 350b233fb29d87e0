/** Results of text jobs that are too large to be shown in a job. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { nativeRenderer } from '../../apps/api/src/dialects/native/native-renderer.ts';
import { type Job, type JobId, toObjectKey } from '../../packages/shared/src/index.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { type TextWorld, textWorld } from '../support/text-world.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const DIMENSIONS = 1024;
const numbersOf = (texts: number): Float32Array =>
  Float32Array.from({ length: texts * DIMENSIONS }, (_, i) => Math.fround(i / 10));

/** Answers the next job with so many embeddings, stored as an object. */
async function answer({ worker, parts }: TextWorld, texts: number): Promise<void> {
  const claim = await worker.next('text.minilm@1');
  const key = `out/default/${claim.jobId}/${claim.token}/result.json`;
  const embeddings = Buffer.from(numbersOf(texts).buffer).toString('base64');
  const bytes = Buffer.from(JSON.stringify({ embeddings, dimensions: DIMENSIONS }));
  await parts.store.put(toObjectKey(key), bytes, { contentType: 'application/json' });
  await worker.succeedWith(claim, { tokens: 3 * texts, key });
}

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
    const json = (await response.json()) as number[][] | { data: { embedding: number[] }[] };
    const embeddings = Array.isArray(json) ? json : json.data.map(({ embedding }) => embedding);
    expect(embeddings.flat()).toEqual([...numbersOf(96)]);
  },
);
