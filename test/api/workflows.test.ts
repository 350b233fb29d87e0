/** Workflows, and audio that comes with its request, over HTTP. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import {
  DEFAULT_TENANT,
  type JobId,
  type JobList,
  LehrError,
  MediaSourceSchema,
  parseRegistry,
  type TenantId,
  toObjectKey,
} from '../../packages/shared/src/index.ts';
import type { JobRecord } from '../../packages/shared/src/records/index.ts';
import { type ApiWorld, apiWorld, jobOf, MODELS, problemOf } from '../support/api-world.ts';
import { keyHolder } from '../support/key-holder.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { textWorld } from '../support/text-world.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const EARS = 'whisper.ears@1';
const SPEECH = `${MODELS}
  - name: ears
    task: whisper
    default: true
    versions: [{ version: "1", path: ears }]
`;
const listening = (audio: string) => ({ type: 'speech-to-text', input: { audio } });

const keysOf = (record: JobRecord | undefined): string[] => {
  const audio = MediaSourceSchema.safeParse(record?.input.audio).data;
  return audio?.kind === 'object' ? [audio.key] : [];
};

const speechWorld = (): Promise<ApiWorld> => apiWorld(server.url, { registry: parseRegistry(SPEECH) });

test('A workflow is deleted once its last node has stopped, and counts against no limit after that', async () => {
  const { ask, worker, parts } = await speechWorld();
  const nodes = ['a', 'b'].map((id) => ({ id, ...listening('https://x.example/a.wav') }));
  const { id } = await jobOf(await ask('POST', '/v1/jobs', { type: 'workflow', nodes }));
  const claim = await worker.take(EARS);
  expect((await ask('DELETE', `/v1/jobs/${id}`)).status).toBe(202);
  // The workflow is over, but a worker still runs one of its nodes.
  const early = await ask('DELETE', `/v1/jobs/${id}`);
  expect(early.status).toBe(202);
  expect(await early.json()).toMatchObject({ id, status: 'canceled' });
  expect(await parts.records.read(claim.jobId)).toMatchObject({ cancel_requested: '1' });

  await worker.obeyCancel(claim);
  expect((await ask('DELETE', `/v1/jobs/${id}`)).status).toBe(204);
  expect(await parts.records.read(claim.jobId)).toBeUndefined();
  const { keys, redis } = parts;
  const tenant = DEFAULT_TENANT as TenantId;
  expect(await Promise.all([keys.live, keys.liveOf(tenant)].map((key) => redis.zcard(key)))).toEqual([0, 0]);
  expect(await redis.scard(keys.runningOf(tenant))).toBe(0);
});

test('The view of a workflow does not change any more after it was canceled, whatever its nodes still do', async () => {
  const { ask, worker, parts } = await speechWorld();
  const nodes = ['a', 'b', 'c'].map((id) => ({ id, ...listening('https://x.example/a.wav') }));
  const { id } = await jobOf(await ask('POST', '/v1/jobs', { type: 'workflow', nodes }));
  const [first, second] = [await worker.take(EARS), await worker.take(EARS)];
  await parts.records.apply([{ move: 'cancel', id: id as JobId }]);
  const view = async () => (await jobOf(await ask('GET', `/v1/jobs/${id}`))).nodes;
  const atItsEnd = await view();
  expect(atItsEnd?.map(({ status }) => status)).toEqual(['canceled', 'canceled', 'canceled']);

  await worker.succeed(first);
  expect(await view()).toEqual(atItsEnd);
  await parts.workflows.advance(id as JobId);
  await worker.obeyCancel(second);
  expect(await view()).toEqual(atItsEnd);
});

test('The list of jobs filtered by the type workflow has the workflows and not their nodes', async () => {
  const { ask } = await speechWorld();
  const nodes = [{ id: 'a', ...listening('https://x.example/a.wav') }];
  const { id } = await jobOf(await ask('POST', '/v1/jobs', { type: 'workflow', nodes }));
  await ask('POST', '/v1/jobs', listening('https://x.example/a.wav'));
  const { data } = (await (await ask('GET', '/v1/jobs?type=workflow')).json()) as JobList;
  expect(data.map((job) => [job.id, job.type])).toEqual([[id, 'workflow']]);
});

test('Audio in a data: URI is stored byte for byte in every encoding and with any media type', async () => {
  const { ask, parts } = await speechWorld();
  const bytes = Buffer.from([0, 0x2b, 0x80, 0xc3, 0xa9, 0xff, 0x25, 0x2c]);
  const base64 = bytes.toString('base64');
  const uris = [
    `data:audio/wav;base64,${base64}`,
    `data:audio/wav;base64,${encodeURIComponent(base64)}`,
    `data:audio/${'x'.repeat(300)};base64,${base64}`,
    `data:;base64,${base64}`,
  ];
  for (const uri of uris) {
    const answer = await ask('POST', '/v1/jobs', listening(uri));
    expect(answer.status, uri).toBe(202);
    const { id } = await jobOf(answer);
    const [key] = keysOf(await parts.records.read(id as JobId));
    const object = await parts.store.get(toObjectKey(key));
    expect(Buffer.from(await new Response(object?.body).arrayBuffer()), uri).toEqual(bytes);
  }
});

test.each([
  ['percent escapes instead of base64', 'data:audio/wav,%00%2b'],
  ['no comma', 'data:audio/wav;base64'],
  ['a comma after more than a kilobyte', `data:audio/${'x'.repeat(2000)};base64,AAAA`],
  ['a million parameters', `data:audio/wav${';a=b'.repeat(200_000)};base64,AAAA`],
  ['a reference that Lehr writes into large bodies', `data:;reference=0;sha256=${'a'.repeat(43)},`],
])('A data: URI with %s is refused, and names the field', async (_, uri) => {
  const { ask } = await speechWorld();
  const refused = await ask('POST', '/v1/jobs', listening(uri));
  expect(refused.status).toBe(422);
  expect((await problemOf(refused)).errors).toMatchObject([{ pointer: '/input/audio' }]);
});

test('A job whose audio could not be stored is not charged to its key', async () => {
  const world = await speechWorld();
  const { ask, key } = await keyHolder(world, 'acme', { limits: { cost_per_minute_s: 1000 } });
  const uri = 'data:audio/wav;base64,UklGRg==';
  vi.spyOn(world.parts.store, 'put').mockRejectedValueOnce(new LehrError('storage-failed', 'It is full.'));
  expect((await ask('POST', '/v1/jobs', listening(uri))).status).toBe(503);
  const { redis, keys } = world.parts;
  expect(Number(await redis.hget(keys.budget(key.id), 'used'))).toBe(0);
  const taken = await ask('POST', '/v1/jobs', listening(uri));
  expect(taken.status).toBe(202);
  expect(Number(taken.headers.get('ratelimit-reset'))).toBeGreaterThan(0);
});

test('A bad reference in a speech-to-image request is reported at the field that was posted', async () => {
  const { ask } = await speechWorld();
  const input = { audio: 'https://x.example/a.wav', negative_prompt: '{{transcribe.mood}}' };
  const refused = await ask('POST', '/v1/jobs', { type: 'speech-to-image', input });
  expect(refused.status).toBe(422);
  expect((await problemOf(refused)).errors).toMatchObject([{ pointer: '/input/negative_prompt' }]);
});

test('POST /graph names its parts in a refusal, and stores and deletes its recording with the job', async () => {
  const { ask, parts } = await speechWorld();
  const graph = (fields: Record<string, string | Blob>) => {
    const body = new FormData();
    for (const [name, value] of Object.entries(fields)) body.append(name, value);
    return ask('POST', '/graph', undefined, { body });
  };
  const file = new Blob(['RIFF']);
  const REFUSED = [
    [{}, '/file'],
    [{ file, inference_steps: '0' }, '/inference_steps'],
    [{ file, width: 'wide' }, '/width'],
    [{ file, language: 'xx' }, '/language'],
    [{ file: new Blob([]) }, '/file'],
    [{ file, second: file }, '/file'],
  ] as const;
  for (const [fields, pointer] of REFUSED) {
    const refused = await graph(fields);
    expect(refused.status, pointer).toBe(422);
    expect((await problemOf(refused)).errors).toMatchObject([{ pointer }]);
  }
  expect((await ask('POST', '/graph', {})).status).toBe(415);
  const late = await apiWorld(server.url, { registry: parseRegistry(SPEECH), holdMs: 20 });
  const body = new FormData();
  body.append('audio', file, 'memo.wav');
  expect((await late.ask('POST', '/graph', undefined, { body })).status).toBe(504);
  const { data } = (await (await late.ask('GET', '/v1/jobs')).json()) as JobList;
  expect(data).toMatchObject([{ type: 'speech-to-image', status: 'queued', input: { audio: 'data:' } }]);
  expect(await parts.redis.zcard(parts.keys.live)).toBe(0);
});

test('A list of predictions does not read the segments of long transcripts from the store', async () => {
  const { ask, worker, parts } = await speechWorld();
  const { id } = await jobOf(await ask('POST', '/v1/jobs', listening('https://x.example/a.wav')));
  const claim = await worker.take(EARS);
  const segments = [
    {
      ...{ id: 0, seek: 0, start: 0, end: 1, text: ' hello', tokens: [1], temperature: 0 },
      ...{ avg_logprob: 0, compression_ratio: 1, no_speech_prob: 0 },
    },
  ];
  const transcript = { text: 'hello', language: 'en', duration: 1, task: 'transcribe' };
  const key = toObjectKey(`out/default/${id}/lease/transcript.json`);
  const whole = Buffer.from(JSON.stringify({ ...transcript, segments }));
  await parts.store.put(key, whole, { contentType: 'application/json' });
  const timings = { queued: 1, fetch: 1, decode: 1, transcribe: 1, store: 1 };
  const metrics = { queue_ms: 1, run_ms: 4, total_ms: 5, batch_size: 1, worker: 'w', timings };
  const fields = { output: { transcript: { ...transcript, key } }, metrics };
  await parts.records.apply([{ move: 'succeed', id: claim.jobId, lease: claim.token, fields }]);

  const reads = vi.spyOn(parts.store, 'get');
  const list = (await (await ask('GET', '/v1/predictions')).json()) as { results: unknown[] };
  expect(list.results).toMatchObject([{ status: 'succeeded', output: { text: 'hello' } }]);
  expect(reads).not.toHaveBeenCalled();
  const one = await ask('GET', `/v1/predictions/${id.slice('job_'.length)}`);
  expect(await one.json()).toMatchObject({ output: { text: 'hello', segments: [{ text: ' hello' }] } });
});

const hear = { id: 'hear', ...listening('https://x.example/a.wav') };

test('A transcript goes to a text model, whose result is shown with its node', async () => {
  const { ask, worker, parts } = await textWorld(server.url, {}, false);
  const texts = ['{{hear.text}}', { text: '{{ hear.text }}', pair: 'It is about shapes.' }];
  const nodes = [hear, { id: 'topic', type: 'text-classification', input: { texts, top_k: 1 } }];
  const posted = await jobOf(await ask('POST', '/v1/jobs', { type: 'workflow', nodes }));
  const id = posted.id as JobId;
  expect(posted.nodes?.map(({ status }) => status)).toEqual(['queued', 'waiting']);
  const transcript = {
    text: ' a red circle',
    language: 'en',
    duration: 1,
    task: 'transcribe',
    segments: [],
  };
  await worker.end(await worker.next(EARS), { transcript });
  await parts.workflows.advance(id);
  const claim = await worker.next('text.words@1');
  const filled = ['a red circle', { text: 'a red circle', pair: 'It is about shapes.' }];
  expect((await parts.records.read(claim.jobId))?.input).toMatchObject({ texts: filled, top_k: 1 });
  const labels = [[{ label: 'one', score: 0.75 }], [{ label: 'pair', score: 0.75 }]];
  await worker.succeedWith(claim, { tokens: 15, result: { labels } });
  await parts.workflows.advance(id);
  const job = await jobOf(await ask('GET', `/v1/jobs/${id}`));
  expect(job).toMatchObject({
    status: 'succeeded',
    model: 'ears@1+words@1',
    output: { text: ' a red circle' },
  });
  expect(job.nodes?.[1].output).toEqual({ labels, tokens: 15 });
  const node = await jobOf(await ask('GET', `/v1/jobs/${claim.jobId}`));
  expect(node).toMatchObject({ type: 'text-classification', input: { texts: filled } });
});

test.each<[string, object, string]>([
  ['a reference to no node', { texts: ['a', '{{ghost.text}}'] }, '/nodes/1/input/texts/1'],
  ['references in too many texts', { texts: Array(9).fill('{{hear.text}}') }, '/nodes/1/input/texts'],
  ['more texts than its model takes', { texts: Array(101).fill('a') }, '/nodes/1/input/texts'],
  ['a wrong field', { texts: ['a'], top_k: 0 }, '/nodes/1/input/top_k'],
])('A workflow with a text node with %s is refused, and names the field', async (_, input, pointer) => {
  const { ask } = await textWorld(server.url, {}, false);
  const nodes = [hear, { id: 'topic', type: 'text-classification', input }];
  const refused = await ask('POST', '/v1/jobs', { type: 'workflow', nodes });
  expect(refused.status).toBe(422);
  expect((await problemOf(refused)).errors).toMatchObject([{ pointer }]);
});

test('A text node whose model does not run its type is refused, with the place of the node', async () => {
  const { ask } = await textWorld(server.url, {}, false);
  const nodes = [{ id: 'a', type: 'fill-mask', model: 'minilm', input: { texts: ['a [MASK]'] } }];
  const refused = await ask('POST', '/v1/jobs', { type: 'workflow', nodes });
  expect(refused.status).toBe(404);
  expect((await problemOf(refused)).detail).toMatch(/^nodes\.0: .*Offered: words/);
});

test.each([
  [
    'workflow',
    {
      type: 'workflow',
      nodes: [{ id: 'a', type: 'text-to-image', input: { prompt: 'x', negative_prompt: 'once only' } }],
    },
  ],
  [
    'spoken picture',
    {
      type: 'speech-to-image',
      input: { audio: 'https://x.example/a.wav', negative_prompt: 'once only', language: 'en' },
    },
  ],
])('The record of a %s has its input once, and the job shows it as it was posted', async (_, body) => {
  const { ask, parts } = await speechWorld();
  const { id, input } = await jobOf(await ask('POST', '/v1/jobs', body));
  const stored = Object.values(await parts.redis.hgetall(parts.keys.record(id as JobId))).join();
  expect(stored.split('once only')).toHaveLength(2);
  if ('input' in body) {
    expect(input).toMatchObject({ ...body.input, steps: 8 });
    expect(Object.keys(input)).not.toContain('prompt');
    expect(Object.keys(input)).not.toContain('task');
  } else expect(input).toMatchObject({ nodes: body.nodes });
});
