/** Pictures that begin at an uploaded one, with the published `openai` client, unchanged but for base URL and key. */
import { BadRequestError, NotFoundError, toFile } from 'openai';
import sharp from 'sharp';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { DEFAULT_TENANT, MediaSourceSchema, toObjectKey } from '../../packages/shared/src/index.ts';
import type { Claim } from '../../packages/shared/src/queue/index.ts';
import { API_KEY, type ApiWorld, apiWorld } from '../support/api-world.ts';
import { errorOf, openai } from '../support/openai-client.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

/** The API in this process, and its client. */
async function edits() {
  const world = await apiWorld(server.url);
  const fetch = async (input: string | URL | Request, init?: RequestInit): Promise<Response> =>
    String(input).startsWith('http') ? world.app.request(String(input), init) : globalThis.fetch(input, init);
  const { client } = openai({ url: 'http://lehr.test', key: API_KEY }, { fetch });
  return { world, client };
}

const pictureOf = (background: string) =>
  sharp({ create: { width: 64, height: 64, channels: background.length > 7 ? 4 : 3, background } })
    .png()
    .toBuffer();
const upload = async (bytes: Promise<Buffer> = pictureOf('#c83264')) =>
  toFile(await bytes, 'start.png', { type: 'image/png' });

const CHANGE = { model: 'tiny', prompt: 'a red circle' } as const;
/** Lehr's own fields, which the types of the client do not know. */
const lehrFields = <Fields extends object>(fields: Fields) => fields as unknown as Record<never, never>;

/** The input that a worker gets, and the object that one of its fields names. */
async function claimed({ parts, worker }: ApiWorld, queue = 'diffusion.tiny@1.64x64') {
  const claim = await worker.next(queue);
  const record = await parts.records.read(claim.jobId);
  const objectOf = async (field: string): Promise<Buffer | undefined> => {
    const source = MediaSourceSchema.parse(record?.input[field]);
    const object = source.kind === 'object' ? await parts.store.get(toObjectKey(source.key)) : undefined;
    return object && Buffer.from(await new Response(object.body).arrayBuffer());
  };
  return { claim, input: record?.input, objectOf };
}

const jobsOf = ({ parts }: ApiWorld): Promise<string[]> =>
  parts.redis.zrange(parts.keys.jobsOf(DEFAULT_TENANT), '0', '-1');

const DRAWN = Buffer.from('a drawn picture');
const drawn = (world: ApiWorld, claim: Claim): Promise<void> => world.worker.succeed(claim, DRAWN);

test('images.edit begins at the uploaded picture, which belongs to the job and is deleted with it', async () => {
  const { world, client } = await edits();
  const bytes = await pictureOf('#c83264');
  const fields = { n: 2, size: '64x32' as 'auto', output_format: 'webp', background: 'auto' } as const;
  const ignored = { input_fidelity: 'high', quality: 'high', output_compression: 80, user: 'u-1' } as const;
  const own = lehrFields({ seed: 3, steps: 4, strength: 0.5, guidance: 2.5, negative_prompt: 'green' });
  const answer = client.images.edit({
    ...CHANGE,
    ...fields,
    ...ignored,
    ...own,
    image: await upload(Promise.resolve(bytes)),
  });
  const { claim, input, objectOf } = await claimed(world, 'diffusion.tiny@1.64x32');
  expect(input).toMatchObject({
    prompt: 'a red circle',
    n: 2,
    width: 64,
    height: 32,
    output_format: 'webp',
    seed: 3,
    steps: 4,
    strength: 0.5,
    guidance: 2.5,
    negative_prompt: 'green',
  });
  expect((await objectOf('image'))?.equals(bytes)).toBe(true);
  await drawn(world, claim);
  const { data, ...facts } = await answer;
  expect(data).toEqual([{ url: expect.any(String), b64_json: DRAWN.toString('base64') }]);
  expect(facts).toMatchObject({ size: '64x32', output_format: 'webp', background: 'opaque' });
  expect((await world.ask('DELETE', `/v1/jobs/${claim.jobId}`)).status).toBe(204);
  expect(await objectOf('image')).toBeUndefined();
});

test('images.edit takes a list of one picture, and a prompt that looks like a number stays a text', async () => {
  const { world, client } = await edits();
  const answer = client.images.edit({
    model: 'tiny',
    prompt: '42',
    image: [await upload()],
    response_format: 'b64_json',
  });
  const { claim, input } = await claimed(world);
  expect(input).toMatchObject({ prompt: '42', strength: expect.any(Number) });
  await drawn(world, claim);
  expect((await answer).data).toEqual([{ b64_json: DRAWN.toString('base64') }]);
});

test('images.edit takes a mask and the fields of Lehr that say how to use it', async () => {
  const { world, client } = await edits();
  const mask = await pictureOf('#ffffff80');
  const own = lehrFields({ mask_blur: 4, mask_fill: 'noise', only_masked: { padding: 16 } });
  const fields = { ...CHANGE, image: await upload(), ...own };
  const answer = client.images.edit({ ...fields, mask: await upload(Promise.resolve(mask)) });
  const { claim, input, objectOf } = await claimed(world);
  expect(input).toMatchObject({
    mask_blur: 4,
    mask_fill: 'noise',
    only_masked: { padding: 16 },
    strength: 1,
  });
  expect((await objectOf('mask'))?.equals(mask)).toBe(true);
  expect((await objectOf('image'))?.equals(await pictureOf('#c83264'))).toBe(true);
  await drawn(world, claim);
  expect((await answer).data).toHaveLength(1);
  expect((await world.ask('DELETE', `/v1/jobs/${claim.jobId}`)).status).toBe(204);
  expect([await objectOf('image'), await objectOf('mask')]).toEqual([undefined, undefined]);
});

test('images.edit draws around a picture with the field expand, at the size of both', async () => {
  const { world, client } = await edits();
  const own = lehrFields({ expand: { left: 32, bottom: 16 } });
  const answer = client.images.edit({ ...CHANGE, image: await upload(), ...own });
  const { claim, input } = await claimed(world, 'diffusion.tiny@1.96x80');
  expect(input).toMatchObject({ expand: { left: 32, right: 0, top: 0, bottom: 16 }, width: 96, height: 80 });
  await drawn(world, claim);
  expect((await answer).data).toHaveLength(1);
});

test('images.edit streams thumbnails of an unfinished edit and then the finished picture', async () => {
  const { world, client } = await edits();
  const streaming = client.images.edit({
    ...CHANGE,
    image: await upload(),
    stream: true,
    partial_images: 1,
  });
  const { claim } = await claimed(world);
  const events: object[] = [];
  const reading = streaming.then(async (stream) => {
    for await (const event of stream) events.push(event);
  });
  const { redis, keys } = world.parts;
  await expect.poll(() => redis.exists(keys.watched(claim.jobId))).toBe(1);
  await drawn(world, claim);
  await reading;
  expect(events.at(-1)).toMatchObject({
    type: 'image_edit.completed',
    b64_json: DRAWN.toString('base64'),
    size: '64x64',
    usage: { total_tokens: 0 },
  });
});

test('images.createVariation begins at the uploaded picture without a prompt', async () => {
  const { world, client } = await edits();
  const answer = client.images.createVariation({
    model: 'tiny',
    image: await upload(),
    n: 3,
    size: '64x64' as '256x256',
    response_format: 'url',
    user: 'u-1',
  });
  const { claim, input, objectOf } = await claimed(world);
  expect(input).toMatchObject({ n: 3, guidance: 1, strength: expect.any(Number) });
  expect(String(input?.prompt).trim()).toBe('');
  expect((await objectOf('image'))?.equals(await pictureOf('#c83264'))).toBe(true);
  await drawn(world, claim);
  expect((await answer).data).toEqual([{ url: expect.stringContaining('/objects/') }]);
});

test('A retry of an edit waits for the job of the first call, and another picture makes another job', async () => {
  const { world, client } = await edits();
  const edit = async (colour: string, headers = {}) =>
    client.images.edit({ ...CHANGE, image: await upload(pictureOf(colour)) }, { headers });
  const first = edit('#c83264');
  await expect.poll(() => world.parts.waits.size).toBe(1);
  const again = edit('#c83264', { 'x-stainless-retry-count': '1' });
  await expect.poll(() => world.parts.waits.size).toBe(2);
  expect(await jobsOf(world)).toHaveLength(1);
  const other = edit('#3264c8', { 'x-stainless-retry-count': '1' });
  await expect.poll(() => world.parts.waits.size).toBe(3);
  expect(await jobsOf(world)).toHaveLength(2);
  for (let i = 0; i < 2; i++) await drawn(world, (await claimed(world)).claim);
  for (const answer of [first, again, other]) expect((await answer).data).toHaveLength(1);
});

const REFUSED: readonly [fields: object, param: string, code: string][] = [
  [{ image: undefined }, 'image', 'missing_required_parameter'],
  [{ prompt: '' }, 'prompt', 'missing_required_parameter'],
  [{ n: 0 }, 'n', 'invalid_value'],
  [{ n: 11 }, 'n', 'invalid_value'],
  [{ n: 'two' }, 'n', 'invalid_value'],
  [{ n: '01' }, 'n', 'invalid_value'],
  [{ size: '65x64' }, 'size', 'invalid_value'],
  [{ size: 'large' }, 'size', 'invalid_value'],
  [{ background: 'transparent' }, 'background', 'unsupported_value'],
  [{ output_format: 'gif' }, 'output_format', 'unsupported_value'],
  [{ response_format: 'bytes' }, 'response_format', 'unsupported_value'],
  [{ stream: 'maybe' }, 'stream', 'invalid_value'],
  [{ stream: true, partial_images: 4 }, 'partial_images', 'invalid_value'],
  [{ strength: 2 }, 'strength', 'invalid_value'],
  [{ mask_blur: 4 }, 'mask_blur', 'invalid_value'],
  [{ expand: { left: -8 } }, 'expand.left', 'invalid_value'],
];

test('What an edit or a variation cannot serve is an error of its class that names the part, and stores nothing', async () => {
  const { world, client } = await edits();
  const image = await upload();
  const edit = (fields: object) => client.images.edit({ ...CHANGE, image, ...fields } as never);
  for (const [fields, param, code] of REFUSED) {
    const error = await errorOf(edit(fields));
    expect(error, JSON.stringify(fields)).toBeInstanceOf(BadRequestError);
    expect(error).toMatchObject({ status: 400, param, code, type: 'invalid_request_error' });
  }
  const several = await errorOf(edit({ image: [image, image, image] }));
  expect(several).toMatchObject({ status: 400, param: 'image', message: expect.stringContaining('3 were') });
  const opaque = await errorOf(edit({ mask: image }));
  expect(opaque).toMatchObject({ status: 400, param: 'mask', message: expect.stringContaining('alpha') });
  const unknown = await errorOf(edit({ model: 'gpt-image-9' }));
  expect(unknown).toBeInstanceOf(NotFoundError);
  expect(unknown).toMatchObject({ code: 'model_not_found', param: 'model' });
  const huge = await toFile(Buffer.alloc(1_100_000), 'huge.png');
  for (const [param, part] of [
    ['image', { image: huge }],
    ['image', { image: [huge] }],
    ['mask', { mask: huge }],
  ] as const) {
    const large = await errorOf(edit(part));
    expect(large).toMatchObject({ status: 413, code: 'request_too_large', param });
  }
  const long = await errorOf(edit({ prompt: 'x'.repeat(70_000) }));
  expect(long).toMatchObject({ status: 413, code: 'request_too_large', param: 'prompt' });
  const json = { body: { prompt: 'x' } };
  expect(await errorOf(client.post('/images/edits', json))).toMatchObject({ status: 415 });
  const masked = await errorOf(client.images.createVariation({ image, mask: image } as never));
  expect(masked).toMatchObject({ status: 400, param: 'mask' });
  const variation = await errorOf(client.images.createVariation({ image, n: 0 }));
  expect(variation).toMatchObject({ status: 400, param: 'n' });
  expect(await jobsOf(world)).toEqual([]);
});
