/** Lines of batches in the form of OpenAI's calls. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { BatchEndpointPath, JobRequest, LehrError } from '../../packages/shared/src/index.ts';
import { type ApiWorld, apiWorld } from '../support/api-world.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const NO_CALLER = undefined as never;

async function lines(): Promise<{
  job(url: BatchEndpointPath, body: unknown): Promise<JobRequest>;
  refusal(url: BatchEndpointPath, body: unknown): Promise<unknown>;
}> {
  const { parts }: ApiWorld = await apiWorld(server.url);
  const endpoint = (url: BatchEndpointPath) => {
    const found = parts.batchEndpoints[url];
    if (!found) throw new Error(`${url} is not offered`);
    return found;
  };
  const job = async (url: BatchEndpointPath, body: unknown) => endpoint(url).requestOf(body, NO_CALLER);
  return {
    job,
    refusal: (url, body) =>
      job(url, body).then(
        () => undefined,
        (error: LehrError) => endpoint(url).errorOf?.(error),
      ),
  };
}

test("A line of each of OpenAI's calls becomes the job of that call, and null fields are absent", async () => {
  const { job } = await lines();
  expect(
    await job('/v1/images/generations', { prompt: 'a', size: '64x32', n: 2, model: null }),
  ).toMatchObject({
    type: 'text-to-image',
    input: { prompt: 'a', width: 64, height: 32, n: 2 },
  });
  const transcription = {
    model: 'ears',
    file: 'https://app.example/a.wav',
    temperature: 0.2,
    language: 'en',
  };
  expect(await job('/v1/audio/transcriptions', transcription)).toMatchObject({
    type: 'speech-to-text',
    model: 'ears',
    input: { audio: transcription.file, task: 'transcribe', temperature: 0.2, language: 'en' },
  });
  expect(await job('/v1/embeddings', { input: 'a', dimensions: 3 })).toMatchObject({
    type: 'text-embedding',
    input: { texts: ['a'], dimensions: 3 },
  });
});

test('A line of an edit names its picture and its mask by URL or by file, as one value or in OpenAI objects', async () => {
  const { job } = await lines();
  const input = { image: 'https://app.example/a.png', mask: 'file_01jd3v9s6w0000000000000000' };
  const forms = [
    input,
    { images: [{ image_url: input.image }], mask: { file_id: input.mask } },
    { images: [input.image], mask: input.mask },
  ];
  for (const form of forms)
    expect(await job('/v1/images/edits', { prompt: 'a', ...form })).toMatchObject({ input });
});

test("A line that is refused has the error of OpenAI's API, with the name of its field", async () => {
  const { refusal } = await lines();
  const cases: readonly [BatchEndpointPath, object, { code: string; param: string }][] = [
    ['/v1/images/generations', {}, { code: 'missing_required_parameter', param: 'prompt' }],
    ['/v1/images/generations', { prompt: 'a', stream: true }, { code: 'invalid_value', param: 'stream' }],
    ['/v1/images/generations', { prompt: 'a', size: '7x64' }, { code: 'invalid_value', param: 'size' }],
    ['/v1/images/edits', { prompt: 'a' }, { code: 'missing_required_parameter', param: 'images' }],
    ['/v1/audio/transcriptions', { model: 'ears' }, { code: 'missing_required_parameter', param: 'file' }],
    [
      '/v1/audio/transcriptions',
      { model: 'ears', file: 'https://app.example/a', timestamp_granularities: ['word'] },
      { code: 'invalid_value', param: 'timestamp_granularities' },
    ],
    ['/v1/embeddings', { input: [] }, { code: 'invalid_value', param: 'input' }],
  ];
  for (const [url, body, { code, param }] of cases) {
    const error = { type: 'invalid_request_error', code, param, message: expect.stringContaining(param) };
    expect(await refusal(url, body)).toMatchObject({ status: 400, body: { error } });
  }
});
