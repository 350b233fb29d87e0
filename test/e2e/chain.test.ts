/** Workflows over workers that each serve one task. */
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { demoModelsFile } from '../../packages/demo-models/src/index.ts';
import type { Job, NodeState } from '../../packages/shared/src/index.ts';
import { wordErrorRate } from '../support/held-out-speech.ts';
import type { LehrProcess } from '../support/lehr-process.ts';
import { pictureFile, pixelData } from '../support/picture-file.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { longSpeech, SAMPLES } from '../support/speech-files.ts';
import { speechModels } from '../support/speech-models.ts';
import { type Stack, startStack } from '../support/stack.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const CIRCLE = 'a red circle on a blue background';
const dataUri = async (name: string): Promise<string> =>
  `data:audio/wav;base64,${await readFile(new URL(name, SAMPLES), 'base64')}`;

const world = async (): Promise<Stack> =>
  startStack(server, { LEHR_MODELS: await speechModels(), LEHR_LEASE_MS: '2000' });

const startSpeechWorker = (stack: Stack): Promise<LehrProcess> => stack.worker({ LEHR_TASKS: 'whisper' });
const startDiffusionWorker = (stack: Stack): Promise<LehrProcess> =>
  stack.worker({ LEHR_TASKS: 'diffusion' });
const idOf = async (worker: LehrProcess): Promise<unknown> => (await worker.logged('worker serves')).worker;

async function submit(stack: Stack, request: object): Promise<Job> {
  const response = await stack.ask('POST', '/v1/jobs', request);
  const body = (await response.json()) as Job;
  expect(response.status, JSON.stringify(body)).toBe(202);
  return body;
}

const nodeOf = ({ nodes }: Job, id: string): NodeState => {
  const found = nodes?.find((node) => node.id === id);
  if (!found) throw new Error(`the job has no node ${id}`);
  return found;
};

/** Resolves with the job as soon as it fits. */
async function until(stack: Stack, id: string, fits: (job: Job) => boolean): Promise<Job> {
  for (let etag = ''; ; ) {
    const response = await stack.ask('GET', `/v1/jobs/${id}`, undefined, { 'if-none-match': etag });
    if (response.status === 200) {
      const job = (await response.json()) as Job;
      if (fits(job)) return job;
      if (!['queued', 'running'].includes(job.status)) throw new Error(JSON.stringify(job));
      etag = '';
    }
  }
}

async function pictureOf({ output }: Job): Promise<Uint8Array> {
  const url = output?.images?.[0].url ?? '';
  return new Uint8Array(await (await fetch(url)).arrayBuffer());
}

test('A speech-to-image job is transcribed by one worker and drawn by another, and POST /graph draws the same picture', async () => {
  const stack = await world();
  const [speechWorker, diffusionWorker] = [await startSpeechWorker(stack), await startDiffusionWorker(stack)];
  const { id } = await submit(stack, {
    type: 'speech-to-image',
    model: 'ears+brush',
    input: { audio: await dataUri('en_circle.wav'), width: 128, height: 64, seed: 7 },
  });
  const job = await stack.over(id);
  expect(job).toMatchObject({
    status: 'succeeded',
    model: 'ears@1+brush@1',
    input: { audio: 'data:', width: 128, height: 64, seed: 7 },
    output: { text: CIRCLE, images: [{ width: 128, height: 64, seed: 7 }] },
  });
  expect(nodeOf(job, 'transcribe')).toMatchObject({
    status: 'succeeded',
    metrics: { worker: await idOf(speechWorker) },
    output: { text: CIRCLE },
  });
  expect(nodeOf(job, 'draw')).toMatchObject({
    status: 'succeeded',
    metrics: { worker: await idOf(diffusionWorker) },
    output: { images: [{ width: 128 }] },
  });
  const draw = await stack.ask('GET', `/v1/jobs/${nodeOf(job, 'draw').job}`);
  expect(await draw.json()).toMatchObject({ input: { prompt: CIRCLE } });
  expect(pictureFile(await pictureOf(job))).toEqual({ format: 'png', size: '128x64' });
  const parts: number[] = Object.values(job.metrics?.timings ?? {});
  expect(parts).toHaveLength(2);
  expect(parts[0] + parts[1]).toBe(job.metrics?.total_ms);

  const form = new FormData();
  form.append('recording', new Blob([await readFile(new URL('en_circle.wav', SAMPLES))]), 'memo.wav');
  for (const [name, value] of Object.entries({ width: '128', height: '64', seed: '7', language: '' }))
    form.append(name, value);
  const headers = { authorization: `Bearer ${stack.key}` };
  const drawn = await fetch(`${stack.url}/graph`, { method: 'POST', headers, body: form });
  expect([drawn.status, drawn.headers.get('content-type')]).toEqual([200, 'image/png']);
  expect(pixelData(new Uint8Array(await drawn.arrayBuffer()))).toBe(pixelData(await pictureOf(job)));
  const noise = new FormData();
  noise.append('recording', new Blob(['RIFF----WAVE']), 'memo.wav');
  const refused = await fetch(`${stack.url}/graph`, { method: 'POST', headers, body: noise });
  expect([refused.status, ((await refused.json()) as { type: string }).type]).toEqual([
    422,
    'urn:lehr:problem:invalid-audio',
  ]);

  expect((await stack.ask('DELETE', `/v1/jobs/${nodeOf(job, 'draw').job}`)).status).toBe(409);
  expect((await stack.ask('DELETE', `/v1/jobs/${id}`)).status).toBe(204);
  expect((await stack.ask('GET', `/v1/jobs/${nodeOf(job, 'draw').job}`)).status).toBe(404);
  expect((await fetch(job.output?.images?.[0].url ?? '')).status).toBe(404);
});

test('A speech worker killed during a long file is replaced, and the job makes one correct picture', {
  tags: ['long'],
}, async () => {
  const stack = await world();
  const [speechWorker] = [await startSpeechWorker(stack), await startDiffusionWorker(stack)];
  const speech = await longSpeech(2);
  const audio = await stack.upload('speech.wav', speech.bytes);
  const { id } = await submit(stack, { type: 'speech-to-image', input: { audio, seed: 1 } });
  await until(stack, id, (job) => (nodeOf(job, 'transcribe').progress?.step ?? 0) > 0);
  speechWorker.signal('SIGKILL');
  await speechWorker.exited();
  const second = await startSpeechWorker(stack);
  const job = await stack.over(id);
  expect(job).toMatchObject({ status: 'succeeded', output: { images: [{ seed: 1 }] } });
  expect(wordErrorRate([{ spoken: speech.text, transcript: job.output?.text ?? '' }])).toBeLessThan(0.02);
  expect(nodeOf(job, 'transcribe').metrics?.worker).toBe(await idOf(second));
});

test('A diffusion worker killed during a picture is replaced, and the picture is unchanged', {
  tags: ['long'],
}, async () => {
  const stack = await world();
  const [, diffusionWorker] = [await startSpeechWorker(stack), await startDiffusionWorker(stack)];
  // Large and with many steps, so that it takes seconds on a fast machine too.
  const picture = { width: 512, height: 512, steps: 999, guidance: 1, seed: 3 };
  const input = { audio: await dataUri('en_circle.wav'), ...picture };
  const { id } = await submit(stack, { type: 'speech-to-image', input });
  await until(stack, id, (job) => (nodeOf(job, 'draw').progress?.step ?? 0) > 0);
  diffusionWorker.signal('SIGKILL');
  await diffusionWorker.exited();
  const second = await startDiffusionWorker(stack);
  const job = await stack.over(id);
  expect(job.status).toBe('succeeded');
  expect(nodeOf(job, 'draw').metrics?.worker).toBe(await idOf(second));
  const again = await submit(stack, {
    type: 'text-to-image',
    input: { prompt: CIRCLE, ...picture },
  });
  const alone = await stack.over(again.id);
  expect(job.output?.images).toHaveLength(1);
  const [drawn, wanted] = await Promise.all([job, alone].map(pictureOf));
  expect(pixelData(drawn)).toBe(pixelData(wanted));
});

test('A workflow uses one transcript for several pictures, and a cancel ends all its nodes', {
  tags: ['long'],
}, async () => {
  const stack = await world();
  await startSpeechWorker(stack);
  const { id } = await submit(stack, {
    type: 'workflow',
    nodes: [
      { id: 'photo', type: 'text-to-image', input: { prompt: 'a photo of {{hear.text}}', seed: 1 } },
      { id: 'hear', type: 'speech-to-text', input: { audio: await dataUri('en_stars.wav') } },
      { id: 'sketch', type: 'text-to-image', input: { prompt: 'a sketch of {{hear.text}}', seed: 2 } },
    ],
  });
  // No diffusion worker runs yet.
  const waiting = await until(stack, id, (job) => nodeOf(job, 'sketch').status === 'queued');
  expect(nodeOf(waiting, 'hear').output?.text).toBe('two green stars above a yellow square');
  const sketch = await stack.ask('GET', `/v1/jobs/${nodeOf(waiting, 'sketch').job}`);
  expect(await sketch.json()).toMatchObject({
    input: { prompt: 'a sketch of two green stars above a yellow square' },
  });
  expect((await stack.ask('POST', `/v1/jobs/${id}/cancel`)).status).toBe(200);
  const over = await stack.over(id);
  expect(over.status).toBe('canceled');
  expect(over.nodes?.map(({ id: node, status }) => [node, status])).toEqual([
    ['hear', 'succeeded'],
    ['photo', 'canceled'],
    ['sketch', 'canceled'],
  ]);
});

test('Spoken words are sorted and embedded by text nodes on a worker for texts', {
  tags: ['long'],
}, async () => {
  const stack = await startStack(server, { LEHR_MODELS: demoModelsFile() });
  await startSpeechWorker(stack);
  const textWorker = await stack.worker({ LEHR_TASKS: 'text' });
  const { id } = await submit(stack, {
    type: 'workflow',
    nodes: [
      { id: 'hear', type: 'speech-to-text', input: { audio: await dataUri('en_stars.wav') } },
      {
        id: 'sort',
        type: 'text-classification',
        input: { texts: ['{{hear.text}}', 'a red circle on a blue background'] },
      },
      { id: 'embed', type: 'text-embedding', input: { texts: ['{{hear.text}}'] } },
    ],
  });
  const job = await stack.over(id);
  expect(job.status).toBe('succeeded');
  const sorted = nodeOf(job, 'sort');
  expect(sorted.metrics?.worker).toBe(await idOf(textWorker));
  expect(sorted.output?.labels?.map(([best]) => best.label)).toEqual(['several objects', 'one object']);
  expect(nodeOf(job, 'embed').output?.embeddings).toHaveLength(1);
  const read = await stack.ask('GET', `/v1/jobs/${sorted.job}`);
  expect(await read.json()).toMatchObject({
    input: { texts: ['two green stars above a yellow square', 'a red circle on a blue background'] },
  });
});

test('A failed node fails its workflow with its reason, and the states of all nodes can be read', {
  tags: ['long'],
}, async () => {
  const stack = await world();
  const [, diffusionWorker] = [await startSpeechWorker(stack), await startDiffusionWorker(stack)];
  const { id } = await submit(stack, {
    type: 'workflow',
    nodes: [
      { id: 'first', type: 'text-to-image', input: { prompt: 'a house', seed: 1, steps: 2 } },
      { id: 'hear', type: 'speech-to-text', input: { audio: 'data:audio/wav;base64,AAAA' } },
      { id: 'draw', type: 'text-to-image', input: { prompt: '{{hear.text}}' } },
    ],
  });
  const job = await stack.over(id);
  expect(job).toMatchObject({
    status: 'failed',
    error: { code: 'node-failed', detail: expect.stringContaining('Node hear failed (invalid-audio)') },
  });
  expect(nodeOf(job, 'hear').error).toMatchObject({ code: 'invalid-audio' });
  expect(nodeOf(job, 'draw')).toMatchObject({ status: 'waiting', job: null });
  await diffusionWorker.stop();
});

test('An invalid workflow is refused with a pointer to its fault and is not stored', async () => {
  const stack = await world();
  const wrong: [pointer: string, nodes: object[]][] = [
    ['/nodes/0/input/prompt', [{ id: 'a', type: 'text-to-image', input: { prompt: '{{b.text}}' } }]],
    ['/nodes/0/input/width', [{ id: 'a', type: 'text-to-image', input: { prompt: 'x', width: 65 } }]],
    [
      '/nodes',
      Array.from({ length: 17 }, (_, i) => ({ id: `n${i}`, type: 'text-to-image', input: { prompt: 'x' } })),
    ],
    ['/nodes/0/model', [{ id: 'a', type: 'text-to-image', model: 'nobody', input: { prompt: 'x' } }]],
  ];
  for (const [pointer, nodes] of wrong) {
    const response = await stack.ask('POST', '/v1/jobs', { type: 'workflow', nodes });
    expect([404, 422]).toContain(response.status);
    expect(await response.json()).toMatchObject({ errors: [{ pointer }] });
  }
  const { data } = (await (await stack.ask('GET', '/v1/jobs')).json()) as { data: Job[] };
  expect(data).toEqual([]);
});
