/** Jobs that transform pictures over HTTP: what is refused, what the worker gets and pays, what callers see, and nodes of workflows. */
import sharp from 'sharp';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Job, type JobId, parseRegistry, toObjectKey } from '../../packages/shared/src/index.ts';
import { type ApiWorld, apiWorld, jobOf, MODELS, problemOf } from '../support/api-world.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const TRANSFORMS = `${MODELS}
  - { name: larger, task: transform, result: picture, scale: 4, versions: [{ version: "1", path: l }] }
  - { name: largest, task: transform, result: picture, scale: 8, versions: [{ version: "1", path: x }] }
  - { name: depth, task: transform, result: mask, limits: { max_pixels: 100000 }, versions: [{ version: "1", path: d }] }
  - { name: kinds, task: transform, result: class, versions: [{ version: "1", path: k }] }
`;
const LARGER = 'transform.larger@1';
const KINDS = 'transform.kinds@1';

const world = (): Promise<ApiWorld> => apiWorld(server.url, { registry: parseRegistry(TRANSFORMS) });

async function pictureOf(width: number, height: number): Promise<string> {
  const background = { r: 200, g: 40, b: 40 };
  const png = await sharp({ create: { width, height, channels: 3, background } })
    .png()
    .toBuffer();
  return `data:image/png;base64,${png.toString('base64')}`;
}

const transform = (input: object, model?: string) => ({ type: 'picture-transform', model, input });
const URL_OF_PICTURE = 'https://x.example/a.png';

test('Every kind of model gets its own fields with their defaults, and waits in one group for any size', async () => {
  const { ask, parts } = await world();
  const image = await pictureOf(300, 200);
  const stored = async (model: string, input: object = {}) => {
    const { id, model: ran } = await jobOf(
      await ask('POST', '/v1/jobs', transform({ image, ...input }, model)),
    );
    expect(ran).toBe(`${model}@1`);
    return parts.records.read(id as JobId);
  };
  const of = (fields: object) => ({ image: { kind: 'object', key: expect.any(String) }, ...fields });
  const larger = await stored('larger');
  expect(larger).toMatchObject({ type: 'picture-transform', queue: LARGER });
  expect(larger?.input).toEqual(of({ output_format: 'png', scale: 4 }));
  expect((await stored('depth'))?.input).toEqual(of({ output_format: 'png', output: 'mask' }));
  const cutout = { output: 'cutout', output_format: 'webp' };
  expect((await stored('depth', cutout))?.input).toEqual(of(cutout));
  expect((await stored('kinds'))?.input).toEqual(of({ top_k: 5 }));
});

test('A picture costs its tiles, a mask one of them, and a picture at a URL as much as a million pixels', async () => {
  const { ask, parts } = await world();
  const costOf = async (model: string, image: string) => {
    const { id } = await jobOf(await ask('POST', '/v1/jobs', transform({ image }, model)));
    return (await parts.records.read(id as JobId))?.cost ?? 0;
  };
  const tile = await costOf('larger', await pictureOf(8, 8));
  expect((await costOf('larger', await pictureOf(600, 300))) / tile).toBe(6);
  expect((await costOf('larger', URL_OF_PICTURE)) / tile).toBe(25);
  expect((await costOf('depth', await pictureOf(300, 300))) / tile).toBe(1);
});

test.each<[string, string, object, string, string]>([
  ['a scale of a mask', 'depth', { scale: 2 }, 'scale', 'is not for depth, which gives a mask'],
  ['an output of a picture', 'larger', { output: 'mask' }, 'output', 'which gives a picture'],
  ['labels of a picture', 'larger', { top_k: 3 }, 'top_k', 'which gives a picture'],
  ['a format of labels', 'kinds', { output_format: 'png' }, 'output_format', 'which gives labels'],
  [
    'a cutout without alpha',
    'depth',
    { output: 'cutout', output_format: 'jpeg' },
    'output_format',
    'must be png or webp',
  ],
  ['a scale of nothing', 'larger', { scale: 0 }, 'scale', 'must be more than 0'],
  ['a scale above eight', 'larger', { scale: 8.1 }, 'scale', 'must be at most 8'],
  ['a hundred and one labels', 'kinds', { top_k: 101 }, 'top_k', 'must be at most 100'],
  ['a seed', 'larger', { seed: 1 }, 'seed', 'is not a known field'],
  [
    'a reference outside of a workflow',
    'larger',
    { image: '{{a.image}}' },
    'image',
    'must be an http(s) URL',
  ],
])('A request with %s is refused, and names the field', async (_, model, fields, field, detail) => {
  const { ask } = await world();
  const refused = await ask('POST', '/v1/jobs', transform({ image: URL_OF_PICTURE, ...fields }, model));
  expect(refused.status).toBe(422);
  expect((await problemOf(refused)).errors).toMatchObject([
    { pointer: `/input/${field}`, detail: expect.stringContaining(detail) },
  ]);
});

test('A picture that is larger than its model takes, or would become too large, is refused before it is stored', async () => {
  const { ask } = await world();
  const refusedFor = async (model: string, image: string, fields: object = {}) => {
    const refused = await ask('POST', '/v1/jobs', transform({ image, ...fields }, model));
    expect(refused.status).toBe(422);
    return (await problemOf(refused)).errors;
  };
  expect(await refusedFor('depth', await pictureOf(400, 251))).toEqual([
    { pointer: '/input/image', detail: 'has 400x251 pixels; the model takes at most 100000' },
  ]);
  expect(await refusedFor('larger', await pictureOf(2048, 2048), { scale: 8 })).toEqual([
    { pointer: '/input/image', detail: expect.stringContaining('would become 16384x16384') },
  ]);
  // The graph makes a picture of its own scale first.
  expect(await refusedFor('largest', await pictureOf(2048, 2048), { scale: 0.01 })).toEqual([
    { pointer: '/input/image', detail: expect.stringContaining('would become 16384x16384') },
  ]);
});

/** As a worker ends such a job. */
const timings = { queued: 1, fetch: 2, wait: 3, run: 4, encode: 5, upload: 6 };
const metrics = { queue_ms: 1, run_ms: 20, total_ms: 21, batch_size: 2, worker: 'w', timings };

async function endWithPicture({ parts, worker }: ApiWorld, group: string): Promise<JobId> {
  const claim = await worker.next(group);
  const key = toObjectKey(`out/default/${claim.jobId}/${claim.token}/0.png`);
  const { sha256, bytes } = await parts.store.put(key, Buffer.from('a png'), { contentType: 'image/png' });
  const image = { key, content_type: 'image/png', width: 32, height: 32, bytes, sha256 };
  await worker.endWith(claim, { output: { images: [image] }, metrics });
  return claim.jobId;
}

const LABELS = [
  { label: 'lighthouse', score: 0.75 },
  { label: 'barn', score: 0.125 },
];

async function endWithLabels({ worker }: ApiWorld): Promise<void> {
  const claim = await worker.next(KINDS);
  await worker.endWith(claim, { output: { labels: LABELS }, metrics });
}

test('A transformed picture is shown as a drawn one is, without a seed, and labels without pictures', async () => {
  const api = await world();
  const { ask } = api;
  const image = await pictureOf(8, 8);
  const posted = await jobOf(await ask('POST', '/v1/jobs', transform({ image }, 'larger')));
  expect(posted.input).toEqual({ image: 'data:', output_format: 'png', scale: 4 });
  await endWithPicture(api, LARGER);
  const job: Job = await api.get(posted.id);
  expect(job).toMatchObject({ status: 'succeeded', metrics: { timings } });
  expect(job.output?.images).toMatchObject([{ content_type: 'image/png', width: 32, height: 32 }]);
  expect(job.output?.images?.[0]).not.toHaveProperty('seed');

  const classes = await jobOf(await ask('POST', '/v1/jobs', transform({ image }, 'kinds')));
  await endWithLabels(api);
  expect((await api.get(classes.id)).output).toEqual({ labels: [LABELS] });
});

test('A workflow enlarges what it has drawn, and draws what another model has seen', async () => {
  const api = await world();
  const { ask, parts, worker } = api;
  const nodes = [
    { id: 'see', ...transform({ image: URL_OF_PICTURE, top_k: 2 }, 'kinds') },
    { id: 'draw', type: 'text-to-image', input: { prompt: 'a sketch of {{see.labels}}' } },
    { id: 'enlarge', ...transform({ image: '{{draw.image}}' }, 'larger') },
    { id: 'again', type: 'text-to-image', input: { prompt: 'x', image: '{{enlarge.image}}' } },
  ];
  const { id } = await jobOf(await ask('POST', '/v1/jobs', { type: 'workflow', nodes }));
  await endWithLabels(api);
  await parts.workflows.advance(id as JobId);
  const drawing = await worker.next('diffusion.tiny@1.64x64');
  expect((await parts.records.read(drawing.jobId))?.input.prompt).toBe('a sketch of lighthouse, barn');
  await worker.succeed(drawing);
  await parts.workflows.advance(id as JobId);
  const enlarging = await endWithPicture(api, LARGER);
  const drawn = (await parts.records.read(enlarging))?.input.image;
  expect(drawn).toMatchObject({ kind: 'object', key: expect.stringContaining(drawing.jobId) });
  await parts.workflows.advance(id as JobId);
  const again = await worker.next('diffusion.tiny@1.64x64');
  const begun = (await parts.records.read(again.jobId))?.input.image;
  expect(begun).toMatchObject({ kind: 'object', key: expect.stringContaining(enlarging) });
});

test.each<[string, object[], string, string]>([
  [
    'the picture of a model that gives labels',
    [
      { id: 'a', ...transform({ image: URL_OF_PICTURE }, 'kinds') },
      { id: 'b', ...transform({ image: '{{a.image}}' }, 'larger') },
    ],
    '/nodes/1/input/image',
    'of the model kinds it has a.labels',
  ],
  [
    'the labels of a model that gives a picture',
    [
      { id: 'b', type: 'text-to-image', input: { prompt: '{{a.labels}}' } },
      { id: 'a', ...transform({ image: URL_OF_PICTURE }, 'larger') },
    ],
    '/nodes/0/input/prompt',
    'of the model larger it has a.image',
  ],
  [
    'a latent as the picture to transform',
    [
      { id: 'a', type: 'text-to-image', input: { prompt: 'x', denoising_end: 0.5 } },
      { id: 'b', ...transform({ image: '{{a.latent}}' }, 'larger') },
    ],
    '/nodes/1/input/image',
    'is a latent',
  ],
])(
  'A workflow that wants %s is refused, with the place of the reference',
  async (_, nodes, pointer, detail) => {
    const { ask } = await world();
    const refused = await ask('POST', '/v1/jobs', { type: 'workflow', nodes });
    expect(refused.status).toBe(422);
    expect((await problemOf(refused)).errors).toMatchObject([
      { pointer, detail: expect.stringContaining(detail) },
    ]);
  },
);

test('A prediction of Replicate transforms, and its output is a list of links or the labels', async () => {
  const api = await world();
  const { ask } = api;
  const predict = async (version: string, input: object) => {
    const made = await ask('POST', '/v1/predictions', {
      version,
      input: { image: URL_OF_PICTURE, ...input },
    });
    expect(made.status).toBe(202);
    return ((await made.json()) as { id: string }).id;
  };
  const outputOf = async (id: string) =>
    ((await (await ask('GET', `/v1/predictions/${id}`)).json()) as { output: unknown }).output;
  const larger = await predict('lehr/larger', { scale: 2 });
  const kinds = await predict('lehr/kinds:1', { top_k: 2 });
  await endWithPicture(api, LARGER);
  await endWithLabels(api);
  expect(await outputOf(larger)).toEqual([expect.stringMatching(/^https:.*0\.png/)]);
  expect(await outputOf(kinds)).toEqual({ labels: [LABELS] });
  const refused = await ask('POST', '/v1/predictions', {
    version: 'lehr/larger',
    input: { image: URL_OF_PICTURE, prompt: 'x' },
  });
  expect((await problemOf(refused)).errors).toMatchObject([{ pointer: '/input/prompt' }]);
});

test('The list of models says what each gives, its scale, and the largest picture that it takes', async () => {
  const { ask } = await world();
  const answer = await ask('GET', '/v1/models');
  const { data, results } = (await answer.json()) as { data: object[]; results: object[] };
  expect(data.slice(2)).toMatchObject([
    { task: 'picture-transform', result: 'picture', scale: 4, limits: { max_pixels: 2 ** 22 } },
    { task: 'picture-transform', result: 'picture', scale: 8, limits: { max_pixels: 2 ** 22 } },
    { task: 'picture-transform', result: 'mask', scale: 1, limits: { max_pixels: 100_000 } },
    { task: 'picture-transform', result: 'class', scale: 1, limits: { max_pixels: 2 ** 24 } },
  ]);
  expect(results[2]).toMatchObject({
    name: 'larger',
    latest_version: { openapi_schema: { components: { schemas: { Input: { required: ['image'] } } } } },
  });
});
