/**
 * Ten thousand requests that are almost valid, over every route of the OpenAPI document. What it finds is printed with the
 * seed that finds it again.
 */
import { readFile } from 'node:fs/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { predictionIdOf } from '../../apps/api/src/dialects/replicate/predictions-view.ts';
import { type BatchId, DEFAULT_TENANT, type JobId, parseRegistry } from '../../packages/shared/src/index.ts';
import { type ApiWorld, apiWorld, MODELS } from '../support/api-world.ts';
import { keyHolder } from '../support/key-holder.ts';
import { type Damaged, damaged } from '../support/mutations.ts';
import {
  draftOf,
  type OpenApiDocument,
  type Operation,
  operationsOf,
  requestOf,
} from '../support/openapi.ts';
import { flatPicture } from '../support/picture-file.ts';
import { Random } from '../support/random.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

const COUNT = 10_000;
/** Requests until everything that is allocated once has been allocated. */
const WARM = 2_500;
const GROWTH_BYTES = 24 * 1024 * 1024;
const RENEWED_EVERY = 500;
const SHOWN = 5;
const SEED = 20_261_120;

/** Models of the other tasks, so that every task has one. */
const LISTENER = `
  - name: listener
    task: whisper
    versions: [{ version: "1", path: listener }]
  - name: larger
    task: transform
    result: picture
    scale: 4
    versions: [{ version: "1", path: larger }]
  - name: reader
    task: text
    tasks: [text-embedding, text-classification, fill-mask, token-classification]
    versions: [{ version: "1", path: reader }]
`;

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

function heapBytes(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers;
}

/** Parameters of things that exist, by path, so that requests pass the first check; other parameters are random. */
type Known = Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>>;

async function knownOf(world: ApiWorld): Promise<Known> {
  const posted = [await world.post(), await world.post(), await world.post({}, { metadata: { a: 'b' } })];
  // The first job in the queue, which may be one of an earlier request.
  const done = await world.worker.take();
  await world.worker.succeed(done);
  const over = await world.get(done.jobId);
  const jobs = [...posted, over];
  await deliveryOf(world, done.jobId, 'job.succeeded');
  await world.worker.take();
  const links = over.output?.images?.map(({ url }) => paramsOf(url, 'key')) ?? [];
  // Only a version with a live worker can be tried. It is under way already when no request has ended it.
  const refs = ['tiny@1', 'split@a', 'split@b'];
  await world.worker.report({ models: refs.map((ref) => ({ ref, batching: 'step', providers: {} })) });
  await world.ask('PUT', '/v1/rollouts/split', { version: 'b', stable: 'a', weight: 10 });
  const keys = [await keyHolder(world, 'acme'), await keyHolder(world, 'acme')];
  return {
    '/v1/jobs/{id}': jobs.map(({ id }) => ({ id })),
    '/events/{id}': jobs.map((job) => paramsOf(job.links.events_signed, 'id')),
    '/v1/keys/{id}': keys.map(({ key }) => ({ id: key.id })),
    '/v1/rollouts/{model}': [{ model: 'split', version: 'b', stable: 'a', state: 'paused' }],
    '/v1/pauses/{target}': [{ target: 'listener', submissions: 'accepted' }],
    '/v1/predictions': [{ version: 'tiny@1' }],
    '/v1/models/{id}': [{ id: 'tiny' }, { id: 'split' }],
    '/v1/models/{owner}/{name}': [{ owner: 'lehr', name: 'tiny' }],
    '/v1/models/{owner}/{name}/versions/{version}': [{ owner: 'lehr', name: 'tiny', version: 'tiny@1' }],
    '/v1/predictions/{id}': jobs.map(({ id }) => ({ id: predictionIdOf(id as JobId) })),
    '/streams/{id}': await Promise.all(jobs.map(({ id }) => streamOf(world, id as JobId))),
    '/v1/files/{id}': [await fileOf(world), await fileOf(world)],
    '/v1/job-actions/{id}': [await actionOf(world), await actionOf(world)],
    '/v1/schedules/{id}': [await scheduleOf(world), await scheduleOf(world)],
    '/v1/batches/{id}': [await batchOf(world, 'expired'), await batchOf(world), await batchOf(world)],
    '/objects/{key}': links,
    '/models/{model}': ['reader', 'reader/pipeline/fill-mask', 'tiny', 'listener'].map((model) => ({
      model,
    })),
    '/hf-inference/models/{model}': [{ model: 'reader' }, { model: 'some/Reader' }],
    ...(await pictureFields()),
    '/v1/audio/transcriptions': [{ model: 'listener' }],
    '/v1/audio/translations': [{ model: 'listener' }],
  };
}

/** Of calls that need a picture; what is sampled is none. */
async function pictureFields(): Promise<Known> {
  const file = await readFile(await flatPicture('#c83264'));
  const text = file.toString('base64');
  const image = new Blob([file], { type: 'image/png' });
  const size = '64x64';
  return {
    '/v1/images/edits': [{ image, mask: image, model: 'tiny', size, n: 1, stream: false }],
    '/v1/images/variations': [{ image, model: 'tiny', size, n: 1 }],
    '/sdapi/v1/img2img': [{ body: { init_images: [text], prompt: 'a circle', width: 64, height: 64 } }],
    '/sdapi/v1/extra-single-image': [{ image: text, upscaler_1: 'larger' }],
  };
}

async function streamOf(world: ApiWorld, job: JobId): Promise<Record<string, string>> {
  const response = await world.ask('GET', `/v1/predictions/${predictionIdOf(job)}`);
  return paramsOf(((await response.json()) as { urls: { stream: string } }).urls.stream, 'id');
}

async function fileOf(world: ApiWorld): Promise<Record<string, string>> {
  const body = new FormData();
  body.append('content', new Blob(['RIFF']), 'a.wav');
  const response = await world.ask('POST', '/v1/files', undefined, { body });
  return { id: ((await response.json()) as { id: string }).id };
}

async function actionOf(world: ApiWorld): Promise<Record<string, string>> {
  const made = await world.ask('POST', '/v1/job-actions', { action: 'delete', filter: { text: 'none' } });
  return { id: ((await made.json()) as { id: string }).id };
}

async function scheduleOf(world: ApiWorld): Promise<Record<string, string>> {
  const request = { type: 'text-to-image', input: { prompt: 'a' } };
  const made = await world.ask('POST', '/v1/schedules', { name: 'a', every_s: 3600, request });
  return { id: ((await made.json()) as { id: string }).id };
}

async function deliveryOf(world: ApiWorld, job: JobId, event: string): Promise<void> {
  await world.parts.webhooks.deliveries.open(
    { job, event, id: 'msg_1' },
    {
      tenant: DEFAULT_TENANT,
      signer: DEFAULT_TENANT,
      url: 'https://app.example/hook',
      body: '{}',
      retried: '1',
    },
  );
}

/** A batch whose jobs are not made; with a state, as one that has ended so. */
async function batchOf(world: ApiWorld, state?: string): Promise<Record<string, string>> {
  const requests = [{ type: 'text-to-image', input: { prompt: 'a' } }];
  const { id } = (await (await world.ask('POST', '/v1/batches', { requests })).json()) as { id: BatchId };
  if (state !== undefined)
    await world.parts.batches.write(id, { state, reason: state, ended_at: 1, failed: 1, slices: 0 });
  await deliveryOf(world, id as string as JobId, 'batch.expired');
  return { id };
}

/** The path parameter and the query of a signed link. */
function paramsOf(link: string, name: string): Record<string, string> {
  const { pathname, searchParams } = new URL(link);
  return { [name]: pathname.split('/').slice(2).join('/'), ...Object.fromEntries(searchParams) };
}

/** The statuses documented for the route that the request reaches; 404 and 405 when it reaches none. */
function statusesOf(operations: readonly Operation[], { method, draft }: Damaged): readonly number[] {
  const { path } = draft.operation;
  const meant = operations.find((each) => each.path === path && each.method === method);
  return meant?.statuses ?? [404, 405];
}

/** Whether the route holds its requests. Here it answers 503, and in the dialect of Hugging Face 429, because waits are stopped. */
const isHeld = (operations: readonly Operation[], { draft }: Damaged): boolean =>
  operations.some(({ name, statuses }) => name === draft.operation.name && statuses.includes(504));

/** Jobs of earlier requests wait, and no worker takes them: a job with a short deadline is refused as one that would miss it. */
const wouldMissDeadline = ({ draft }: Damaged, answer: string): boolean => {
  const { body } = requestOf(draft)[1];
  return (
    typeof body === 'string' &&
    body.includes('"deadline_s"') &&
    answer.includes('urn:lehr:problem:overloaded')
  );
};

const shown = (request: Damaged): string => {
  const [url, init] = requestOf(request.draft);
  const body = typeof init.body === 'string' ? init.body.slice(0, 300) : init.body;
  return JSON.stringify([request.method, url.slice(0, 300), init.headers, body]).slice(0, 800);
};

test(`${COUNT} almost valid requests get documented answers without an internal error, and leak no memory (seed ${SEED})`, {
  tags: ['long'],
}, async () => {
  const faults: unknown[] = [];
  const note = (fields: Record<string, unknown>) => faults.push(fields.error);
  const log = { debug: () => {}, info: () => {}, warn: () => {}, error: note, child: () => log };
  const registry = parseRegistry(`${MODELS}${LISTENER}`);
  const world = await apiWorld(server.url, { log, registry });
  const document = (await (await world.app.request('/openapi.json')).json()) as OpenApiDocument;
  const operations = operationsOf(document);
  let known: Known = {};
  // No request is held.
  world.parts.waits.stop();
  world.parts.feeds.stop();
  const random = new Random(SEED);
  const wrong: string[] = [];
  const seen = new Map<string, number>();
  let before = 0;

  for (let i = 0; i < COUNT && wrong.length < SHOWN; i++) {
    if (i === WARM) before = heapBytes();
    // Requests have deleted and revoked some of them.
    if (i % RENEWED_EVERY === 0) known = await knownOf(world);
    const operation = random.pick(operations);
    const { path } = operation;
    const choices = known[path] ?? known[path.slice(0, path.lastIndexOf('}') + 1)];
    const given = choices && random.pick(choices);
    const request = damaged(draftOf(document, operation, random, given), random);
    const [url, init] = requestOf(request.draft);
    const hasBody = request.method !== 'GET' && request.method !== 'HEAD';
    const response = await world.ask(request.method, url, undefined, {
      ...init,
      method: request.method,
      body: hasBody ? (init.body ?? null) : null,
    });
    let answer = '';
    if (response.headers.get('content-type')?.startsWith('text/event-stream')) await response.body?.cancel();
    else answer = await response.text();
    seen.set(
      `${operation.name} ${response.status}`,
      (seen.get(`${operation.name} ${response.status}`) ?? 0) + 1,
    );
    const mayBe503 = isHeld(operations, request) || wouldMissDeadline(request, answer);
    const isFault = response.status >= 500 && !(response.status === 503 && mayBe503);
    if (!isFault && statusesOf(operations, request).includes(response.status)) continue;
    wrong.push(
      `${response.status} for request ${i} of seed ${SEED}: ${shown(request)} ${answer.slice(0, 300)} ${faults.at(-1) ?? ''}`,
    );
  }

  expect(wrong.join('\n')).toBe('');
  expect(faults).toEqual([]);
  expect(heapBytes() - before).toBeLessThan(GROWTH_BYTES);
  // Not every request was refused: each route also got one that it accepted.
  const reached = new Set(
    [...seen.keys()].filter((key) => /\s([23]\d\d|429|503)$/.test(key)).map((key) => key.split(' ')[0]),
  );
  expect(operations.map(({ name }) => name).filter((name) => !reached.has(name))).toEqual([]);
});
