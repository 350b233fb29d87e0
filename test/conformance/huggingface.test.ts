/** The inference API of Hugging Face, with the client of npm, and its bare forms. */
import { InferenceClient } from '@huggingface/inference';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { WorkerStatus } from '../../packages/shared/src/index.ts';
import { toStoredError } from '../../packages/shared/src/records/index.ts';
import { API_KEY } from '../support/api-world.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { embeddingOf, type TextWorld, textWorld } from '../support/text-world.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

/** What a worker with the model open reports. */
const MINILM: Partial<WorkerStatus> = {
  tasks: ['text'],
  models: [{ ref: 'minilm@1', batching: 'step', providers: { model: 'cpu' } }],
};

const clientOf = ({ url }: TextWorld, path: string): InferenceClient =>
  new InferenceClient(API_KEY, { endpointUrl: `${url}${path}` });

test('The client of npm embeds a text and a list of texts, with the names of the Hub and the path of the router', async () => {
  const world = await textWorld(server.url);
  const text = 'a red circle';
  const of = (path: string) => clientOf(world, path);
  expect(await of('/models/minilm').featureExtraction({ inputs: text })).toEqual(embeddingOf(text));
  const list = ['a', 'a red circle'];
  const router = of('/hf-inference/models/sentence-transformers/MiniLM/pipeline/feature-extraction');
  expect(await router.featureExtraction({ inputs: list })).toEqual(list.map(embeddingOf));
  expect(await router.featureExtraction({ inputs: text, dimensions: 2, normalize: true })).toEqual(
    embeddingOf(text).slice(0, 2),
  );
});

test('The client of npm fills masks, classifies texts and finds entities', async () => {
  const world = await textWorld(server.url);
  const of = (task: string) => clientOf(world, `/models/words/pipeline/${task}`);
  const mask = 'a red [MASK] on blue';
  const fills = await of('fill-mask').fillMask({ inputs: mask });
  expect(fills).toHaveLength(5);
  expect(fills[0]).toEqual({ score: 0.5, token: 100, token_str: 'circle', sequence: 'a red circle on blue' });
  expect(
    await clientOf(world, '/models/words').fillMask({ inputs: mask, parameters: { top_k: 1 } }),
  ).toHaveLength(1);
  expect(await of('text-classification').textClassification({ inputs: 'a red circle' })).toEqual([
    { label: 'one', score: 0.75 },
    { label: 'several', score: 0.25 },
  ]);
  expect(await of('token-classification').tokenClassification({ inputs: 'Ada lived' })).toEqual([
    { entity_group: 'PER', score: 0.5, word: 'Ada', start: 0, end: 3 },
  ]);
});

test.each(['/models/a%0Db', '/hf-inference/models/a%0Ab'])(
  'A model whose name has a line break is answered in the shape of these paths: POST %s',
  async (path) => {
    const world = await textWorld(server.url);
    const answer = await world.ask('POST', path, { inputs: 'a red circle' });
    expect(answer.status).toBe(404);
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
    expect(await answer.json()).toMatchObject({ error: expect.stringMatching(/^There is no model/) });
  },
);

test('Lists of texts, pairs and several masks are answered in the shape of the pipelines', async () => {
  const world = await textWorld(server.url);
  const ask = async (task: string, inputs: unknown, parameters: object = { top_k: 1 }) => {
    const answer = await world.ask('POST', `/models/words/pipeline/${task}`, { inputs, parameters });
    expect(answer.status).toBe(200);
    return answer.json();
  };
  const circle = { score: 0.5, token: 100, token_str: 'circle' };
  const two = await ask('fill-mask', ['[MASK]', '[MASK] [MASK]']);
  expect(two).toEqual([
    [{ ...circle, sequence: 'circle' }],
    [[{ ...circle, sequence: 'circle [MASK]' }], [{ ...circle, sequence: 'circle [MASK]' }]],
  ]);
  expect(await ask('text-classification', { text: 'a', text_pair: 'b' })).toEqual([
    [{ label: 'pair', score: 0.75 }],
  ]);
  expect(await ask('text-classification', ['a', { text: 'a', text_pair: 'b' }])).toEqual([
    [{ label: 'one', score: 0.75 }],
    [{ label: 'pair', score: 0.75 }],
  ]);
  const entity = { score: 0.5, word: 'Ada', start: 0, end: 3 };
  expect(await ask('token-classification', ['Ada'], { aggregation_strategy: 'none' })).toEqual([
    [{ entity: 'B-PER', ...entity }],
  ]);
});

test('POST /fill-mask with a text as its body answers with the list of tokens', async () => {
  const world = await textWorld(server.url);
  for (const type of ['text/plain', 'application/x-www-form-urlencoded']) {
    const answer = await world.ask('POST', '/fill-mask', 'a red [MASK]', {
      headers: { 'content-type': type },
    });
    expect(answer.status).toBe(200);
    const tokens = (await answer.json()) as unknown[];
    expect(tokens).toHaveLength(5);
    expect(tokens[0]).toEqual({ score: 0.5, token: 100, token_str: 'circle', sequence: 'a red circle' });
  }
});

test('A refusal names the field of the call, and the client of npm throws its message', async () => {
  const world = await textWorld(server.url);
  const embed = (path: string, fields: object) =>
    clientOf(world, path)
      .featureExtraction({ inputs: 'x', ...fields })
      .catch((error: Error) => error.message);
  expect(await embed('/models/nothing', {})).toMatch(/There is no model "nothing"\. Offered: .*minilm/);
  expect(await embed('/models/minilm/pipeline/rhyme', {})).toMatch(/There is no pipeline "rhyme"/);
  expect(await embed('/models/words/pipeline/feature-extraction', {})).toMatch(/Offered: minilm/);
  expect(await embed('/models/minilm', { dimensions: 0 })).toMatch(
    /parameters\.dimensions must be at least 1/,
  );
  expect(await embed('/models/minilm', { prompt_name: 'query' })).toMatch(/prompt_name is not supported/);
  expect(await embed('/models/minilm', { inputs: [] })).toMatch(/inputs/);
  expect(await embed('/models/minilm', { inputs: ['a', 'a b c d e f g h i j k l'] })).toMatch(
    /input\.texts\[1\] has 14 tokens, and minilm@1 takes at most 12/,
  );
  const broken = await world.ask('POST', '/models/minilm', '{"inputs":');
  expect(broken.status).toBe(400);
  expect(await broken.json()).toEqual({ error: 'The body is not JSON.', error_type: 'invalid-request' });
  const cut = await embed('/models/minilm', { inputs: 'a b c d e f g h i j k l', truncate: true });
  expect(cut).toHaveLength(4);
});

test('Null stands for an absent field of a call, and the OpenAPI document says so', async () => {
  const world = await textWorld(server.url);
  const absent = [{ parameters: null }, { options: null }, { options: { wait_for_model: null } }];
  for (const fields of absent) {
    const answer = await world.ask('POST', '/models/minilm', { inputs: 'a', ...fields });
    expect(answer.status).toBe(200);
  }
  const document = await (await world.ask('GET', '/openapi.json')).json();
  const orNull = (type: string) => expect.objectContaining({ type: [type, 'null'] });
  expect(document).toHaveProperty('components.schemas.HuggingFaceRequest.properties', {
    inputs: expect.anything(),
    parameters: orNull('object'),
    options: expect.objectContaining({
      type: ['object', 'null'],
      properties: { wait_for_model: orNull('boolean') },
    }),
  });
});

test('A caller that does not wait for the model is refused with 503 while no worker serves it, and others wait', async () => {
  const world = await textWorld(server.url, { holdMs: 200 }, false);
  const body = { inputs: 'a', options: { wait_for_model: false } };
  const refused = await world.ask('POST', '/models/minilm', body);
  expect(refused.status).toBe(503);
  expect(await refused.json()).toEqual({
    error: 'Model minilm is currently loading',
    error_type: 'unavailable',
    estimated_time: 20,
  });
  await world.worker.report(MINILM);
  const held = await world.ask('POST', '/models/minilm', { inputs: 'a' });
  expect(held.status).toBe(504);
  expect(await held.json()).toMatchObject({
    error_type: 'hold-expired',
    job_id: expect.stringMatching(/^job_/),
  });
});

test('POST /fill-mask without waiting is answered when a worker has the default model for masks open', async () => {
  const body = { inputs: 'a [MASK]', parameters: { top_k: 1 }, options: { wait_for_model: false } };
  const idle = await textWorld(server.url, {}, false);
  const refused = await idle.ask('POST', '/fill-mask', body);
  expect(refused.status).toBe(503);
  expect(await refused.json()).toMatchObject({ error: 'Model words is currently loading' });
  const world = await textWorld(server.url);
  await world.worker.report({
    tasks: ['text'],
    models: [{ ref: 'words@1', batching: 'step', providers: { model: 'cpu' } }],
  });
  expect((await world.ask('POST', '/fill-mask', body)).status).toBe(200);
});

test('A call whose model is loading is refused after a second, because the clients repeat it at once', async () => {
  const world = await textWorld(server.url, {}, false);
  const startedAt = performance.now();
  const body = { inputs: 'a', options: { wait_for_model: false } };
  expect((await world.ask('POST', '/models/minilm', body)).status).toBe(503);
  expect(performance.now() - startedAt).toBeGreaterThan(900);
});

test('A job that failed with 503 in other dialects is a 500, because the client of npm repeats a call with 503 without an end', async () => {
  const world = await textWorld(server.url, {}, false);
  const failing = async (): Promise<void> => {
    const claim = await world.worker.next('text.minilm@1');
    await world.worker.fail(claim, toStoredError({ code: 'storage-failed', message: 'The disk is full.' }));
  };
  const embedding = clientOf(world, '/models/minilm').featureExtraction({ inputs: 'a' });
  await Promise.all([expect(embedding).rejects.toMatchObject({ httpResponse: { status: 500 } }), failing()]);
});

test('JSON that curl sends as a form, or without a type, is read as JSON', async () => {
  const world = await textWorld(server.url);
  const body = JSON.stringify({ inputs: 'a red [MASK]', parameters: { top_k: 1 } });
  for (const type of ['application/x-www-form-urlencoded', '']) {
    const answer = await world.ask('POST', '/models/words/pipeline/fill-mask', body, {
      headers: { 'content-type': type },
    });
    expect(await answer.json()).toMatchObject([{ sequence: 'a red circle' }]);
  }
  const broken = await world.ask('POST', '/models/words', '{"inputs":', {
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  });
  expect(broken.status).toBe(400);
});

test('A full queue is answered with 429, because the client of npm repeats a call with 503 without a pause', async () => {
  const world = await textWorld(server.url, { maxWaitMs: 1000 }, false);
  await world.worker.report(MINILM);
  const long = { type: 'text-embedding', input: { texts: ['a'.repeat(60_000)] } };
  expect((await world.ask('POST', '/v1/jobs', long)).status).toBe(202);
  const failing = clientOf(world, '/models/minilm').featureExtraction({ inputs: 'b'.repeat(60_000) });
  await expect(failing).rejects.toMatchObject({ httpResponse: { status: 429 } });
});

test('The client of npm draws, and the answer is the bytes of the picture', async () => {
  const world = await textWorld(server.url, {}, false);
  const drawing = clientOf(world, '/models/tiny').textToImage(
    { inputs: 'a red circle', parameters: { num_inference_steps: 2, seed: 7, scheduler: 'euler' } },
    { outputType: 'blob' },
  );
  const [picture] = await Promise.all([drawing, draw(world)]);
  expect(picture.type).toBe('image/png');
  expect(await picture.text()).toBe('not really a png');
});

async function draw({ worker, parts }: TextWorld): Promise<void> {
  const claim = await worker.next('diffusion.tiny@1.64x64');
  const record = await parts.records.read(claim.jobId);
  expect(record?.input).toMatchObject({ prompt: 'a red circle', steps: 2, seed: 7, sampler: 'euler' });
  await worker.succeed(claim);
}

test('The client of npm transcribes the bytes that are the body', async () => {
  const world = await textWorld(server.url, { maxUploadBytes: 5_000_000 }, false);
  const audio = new Blob([new Uint8Array(3_000_000)], { type: 'audio/wav' });
  const hearing = clientOf(world, '/models/ears').automaticSpeechRecognition({ inputs: audio });
  const [heard] = await Promise.all([hearing, hear(world)]);
  expect(heard).toEqual({ text: ' a circle' });
});

async function hear({ worker, parts }: TextWorld): Promise<void> {
  const claim = await worker.next('whisper.ears@1');
  const record = await parts.records.read(claim.jobId);
  expect(record?.input).toMatchObject({ audio: { kind: 'object' }, timestamps: 'segment' });
  const transcript = { text: ' a circle', language: 'en', duration: 1, task: 'transcribe', segments: [] };
  await worker.end(claim, { transcript });
}

test('The client of npm enlarges a picture, and classifies the bytes that are the body', async () => {
  const world = await textWorld(server.url, {}, false);
  const image = new Blob(['a picture'], { type: 'image/png' });
  const enlarging = clientOf(world, '/models/larger').imageToImage({ inputs: image });
  const enlarge = async () => {
    const claim = await world.worker.next('transform.larger@1');
    const { input } = (await world.parts.records.read(claim.jobId)) ?? {};
    expect(input).toMatchObject({ image: { kind: 'object' }, scale: 4, output_format: 'png' });
    await world.worker.succeed(claim);
  };
  const [picture] = await Promise.all([enlarging, enlarge()]);
  expect(await picture.text()).toBe('not really a png');

  const labels = [{ label: 'barn', score: 0.75 }];
  const classifying = clientOf(world, '/models/kinds/pipeline/image-classification').imageClassification({
    inputs: image,
  });
  const classify = async () => {
    const claim = await world.worker.next('transform.kinds@1');
    expect((await world.parts.records.read(claim.jobId))?.input).toMatchObject({ top_k: 5 });
    await world.worker.end(claim, { labels });
  };
  expect((await Promise.all([classifying, classify()]))[0]).toEqual(labels);
});

test.each([
  ['/models/kinds', { inputs: 'AAAA', function_to_apply: 'sigmoid' }, 422, 'function_to_apply'],
  ['/models/larger', { inputs: 'AAAA', target_size: { width: 9, height: 9 } }, 422, 'target_size'],
  ['/models/larger', { inputs: 'AAAA', scale: 9 }, 422, 'parameters.scale'],
  ['/models/larger', { inputs: 7 }, 422, 'a picture in base64'],
  ['/models/larger/pipeline/image-classification', { inputs: 'AAAA' }, 404, 'is image-to-image'],
  ['/models/kinds/pipeline/image-to-image', { inputs: 'AAAA' }, 404, 'is image-classification'],
  ['/models/tiny/pipeline/image-to-image', { inputs: 'AAAA' }, 404, 'larger'],
])('A call that transforms a picture is refused: %s with %j', async (path, body, status, words) => {
  const { ask } = await textWorld(server.url, {}, false);
  const refused = await ask('POST', path, body);
  const { error } = (await refused.json()) as { error: string };
  expect([refused.status, error]).toEqual([status, expect.stringContaining(words)]);
});
