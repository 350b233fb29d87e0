/** Pictures, models and errors with the published `openai` client against a running Lehr; only base URL and key are set. */
import { createHash } from 'node:crypto';
import type OpenAI from 'openai';
import {
  AuthenticationError,
  BadRequestError,
  ConflictError,
  InternalServerError,
  NotFoundError,
  PermissionDeniedError,
  RateLimitError,
  toFile,
  UnprocessableEntityError,
} from 'openai';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { shared } from '../support/cleanup.ts';
import { errorOf, openai } from '../support/openai-client.ts';
import { pictureFile, pixelData } from '../support/picture-file.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { newTenant, type Stack, startStack } from '../support/stack.ts';
import { storedJobs } from '../support/stored-jobs.ts';
import { tinyModels } from '../support/tiny-models.ts';

/** Most tests start a whole installation, possibly on a busy machine. */
vi.setConfig({ testTimeout: 180_000 });
const LONG_WAIT = { timeout: 30_000 };

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const stack = shared(async () => {
  const all = await startStack(server);
  await all.worker();
  return all;
});

/** Without a worker: the jobs of each test, which has an own tenant, stay as they are. */
const idle = shared(() => startStack(server));

const CIRCLE = { model: 'tiny', prompt: 'a red circle' } as const;
/** Lehr's own fields, which the types of the client do not know; the client passes them through. */
const lehrFields = <Fields extends object>(fields: Fields) => fields as unknown as Record<never, never>;

const digest = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
/** The digest of the first picture in the response. */
const firstDigest = ({ data }: OpenAI.ImagesResponse): string =>
  digest(Buffer.from(data?.[0]?.b64_json ?? '', 'base64'));

const bytesOf = async (image: OpenAI.Image | undefined): Promise<Uint8Array> => {
  if (image?.b64_json !== undefined) return Buffer.from(image.b64_json, 'base64');
  // Clients fetch links without their key.
  const response = await fetch(image?.url ?? '');
  expect(response.status).toBe(200);
  return new Uint8Array(await response.arrayBuffer());
};

test('The model list has one page, in the OpenAI and the Replicate form, and models are found by name', async () => {
  const { client } = openai(stack);
  const page = await client.models.list();
  expect(page.data).toEqual([
    expect.objectContaining({ id: 'tiny', object: 'model', owned_by: 'lehr', task: 'text-to-image' }),
  ]);
  expect(page.data[0]?.created).toBeGreaterThan(1_700_000_000);
  expect(page.hasNextPage()).toBe(false);
  expect(await (await client.models.list().asResponse()).json()).toMatchObject({
    object: 'list',
    results: [{ owner: 'lehr', name: 'tiny' }],
    next: null,
    previous: null,
  });
  expect(await client.models.retrieve('tiny')).toMatchObject({ id: 'tiny', object: 'model' });
  for (const id of ['gpt-image-1', 'lehr/tiny']) {
    const error = await errorOf(client.models.retrieve(id));
    expect(error).toBeInstanceOf(NotFoundError);
    expect(error).toMatchObject({ code: 'model_not_found', type: 'invalid_request_error', param: 'model' });
  }
  const unknown = await errorOf(client.get('/no/such/thing'));
  expect(unknown).toMatchObject({
    status: 404,
    code: 'not_found',
    type: 'invalid_request_error',
    param: null,
  });
});

test('A picture to begin at is a field of images.generate, and images.edit uploads it', {
  tags: ['long'],
}, async () => {
  const stack = await startStack(server, { LEHR_MODELS: await tinyModels({ vaeEncoder: true }) });
  const worker = stack.worker();
  const { client } = openai(stack);
  const start = await sharp({ create: { width: 64, height: 64, channels: 3, background: '#c83264' } })
    .png()
    .toBuffer();
  const draw = async (fields: object): Promise<string> => {
    const { data } = await client.images.generate({ ...CIRCLE, ...lehrFields({ seed: 3, ...fields }) });
    return pixelData(await bytesOf(data?.[0]));
  };
  const image = `data:image/png;base64,${start.toString('base64')}`;
  const plain = await draw({});
  const begun = await draw({ image, strength: 0.5 });
  await worker;
  expect(begun).not.toBe(plain);
  expect(await draw({ image, strength: 0.5 })).toBe(begun);
  const unreadable = await errorOf(draw({ image: 'data:image/png;base64,AAAA', strength: 0.5 }));
  expect(unreadable).toMatchObject({ status: 400, param: 'image' });
  const file = await toFile(start, 'start.png', { type: 'image/png' });
  const edit = async (image: typeof file) => {
    const own = lehrFields({ seed: 3, strength: 0.5 });
    const { data } = await client.images.edit({ ...CIRCLE, image, ...own });
    return pixelData(await bytesOf(data?.[0]));
  };
  expect(await edit(file)).toBe(begun);
  const broken = await toFile(Buffer.from('no picture'), 'start.png');
  expect(await errorOf(edit(broken))).toMatchObject({ status: 400, param: 'image' });
  const small = await sharp(start).resize(32).ensureAlpha(0.5).png().toBuffer();
  const mask = await toFile(small, 'mask.png', { type: 'image/png' });
  expect(await errorOf(client.images.edit({ ...CIRCLE, image: file, mask }))).toMatchObject({
    status: 400,
    param: 'mask',
    message: expect.stringContaining('32x32'),
  });
  const { data } = await client.images.createVariation({ model: 'tiny', image: file, n: 2 });
  const variations = await Promise.all((data ?? []).map(bytesOf));
  expect(variations.map(pictureFile)).toEqual(Array(2).fill({ format: 'png', size: '64x64' }));
});

test('A model without a VAE encoder refuses a picture to begin at, with the name of the field', async () => {
  const { client } = openai(idle);
  const image = 'https://app.example/sketch.png';
  const refused = await errorOf(client.images.generate({ ...CIRCLE, ...lehrFields({ image }) }));
  expect(refused).toBeInstanceOf(BadRequestError);
  expect(refused).toMatchObject({ param: 'image' });
});

describe('images.generate', () => {
  test('images.generate supports every size, count, response format and output format', async () => {
    const { client, answers } = openai(stack);
    const nowS = Date.now() / 1000;

    const both = await client.images.generate(CIRCLE);
    expect(both.created).toBeGreaterThan(nowS - 5);
    expect(both).toMatchObject({ size: '64x64', output_format: 'png', background: 'opaque' });
    expect(both._request_id).toBe(answers[0]?.headers.get('x-request-id'));
    expect(both._request_id).toBeTruthy();
    const [image] = both.data ?? [];
    expect(Object.keys(image ?? {}).sort()).toEqual(['b64_json', 'url']);
    const [linked, inline] = [await bytesOf({ url: image?.url ?? '' }), await bytesOf(image)];
    expect(pictureFile(inline)).toEqual({ format: 'png', size: '64x64' });
    expect(Buffer.from(linked).equals(Buffer.from(inline))).toBe(true);

    const links = await client.images.generate({ ...CIRCLE, response_format: 'url' });
    expect(Object.keys(links.data?.[0] ?? {})).toEqual(['url']);
    const coded = await client.images.generate({ ...CIRCLE, response_format: 'b64_json' });
    expect(Object.keys(coded.data?.[0] ?? {})).toEqual(['b64_json']);

    const three = await client.images.generate({ ...CIRCLE, n: 3, size: '128x64' as 'auto' });
    const pictures = await Promise.all((three.data ?? []).map(bytesOf));
    expect(pictures.map(pictureFile)).toEqual(Array(3).fill({ format: 'png', size: '128x64' }));
    expect(new Set(pictures.map(digest)).size).toBe(3);

    for (const output_format of ['jpeg', 'webp'] as const) {
      const { data, ...rest } = await client.images.generate({
        ...CIRCLE,
        output_format,
        output_compression: 80,
      });
      expect(rest).toMatchObject({ output_format });
      expect(pictureFile(await bytesOf(data?.[0]))).toEqual({ format: output_format });
    }
  });

  test('images.generate treats null as absent, ignores unknown fields, and accepts the fields of Lehr', async () => {
    const { client } = openai(stack);
    const nothing = {
      model: null,
      n: null,
      size: null,
      response_format: null,
      output_format: null,
      output_compression: null,
      background: null,
      stream: null,
      partial_images: null,
    } as const;
    const hints = { quality: 'hd', style: 'vivid', moderation: 'low', user: 'u-1', shininess: 11 } as const;
    const fields = { prompt: 'a red circle', ...nothing, ...hints, size: 'auto' } as const;
    const { data } = await client.images.generate(fields);
    expect(pictureFile(await bytesOf(data?.[0]))).toEqual({ format: 'png', size: '64x64' });
    const drawn = async (seed: number): Promise<Buffer> => {
      const more = lehrFields({ seed, steps: 4, guidance: 2, negative_prompt: 'green', sampler: 'euler' });
      const { data } = await client.images.generate({ ...CIRCLE, ...more });
      return sharp(await bytesOf(data?.[0]))
        .raw()
        .toBuffer();
    };
    const [one, again, other] = [await drawn(7), await drawn(7), await drawn(8)];
    expect(again.equals(one)).toBe(true);
    expect(other.equals(one)).toBe(false);
  });

  test('images.generate streams thumbnails of an unfinished picture and then every finished picture', async () => {
    const stack = await startStack(server);
    const jobs = storedJobs(server.url, stack);
    const { client, answers } = openai(stack);
    const slow = lehrFields({ steps: 300 });
    const stream = client.images.generate({ ...CIRCLE, ...slow, stream: true, partial_images: 2 });
    // The job has a follower before it starts, so its first steps already make thumbnails.
    const [id] = await jobs.untilJobs(1);
    await expect.poll(() => jobs.redis.exists(jobs.keys.watched(id)), LONG_WAIT).toBe(1);
    await stack.worker();
    const events = [];
    for await (const event of await stream) events.push(event);
    expect(answers[0]?.headers.get('content-type')).toContain('text/event-stream');
    const partials = events.filter(({ type }) => type === 'image_generation.partial_image');
    expect(partials.length).toBeGreaterThanOrEqual(1);
    expect(partials.length).toBeLessThanOrEqual(2);
    expect(partials.map((event) => 'partial_image_index' in event && event.partial_image_index)).toEqual(
      partials.map((_, i) => i),
    );
    for (const partial of partials) {
      expect(pictureFile(Buffer.from(partial.b64_json, 'base64')).format).toBe(partial.output_format);
    }
    const completed = events.at(-1);
    expect(completed).toMatchObject({
      type: 'image_generation.completed',
      size: '64x64',
      quality: 'auto',
      background: 'opaque',
      output_format: 'png',
      usage: { total_tokens: 0 },
    });
    expect(events.filter(({ type }) => type === 'image_generation.completed')).toHaveLength(1);
    expect(pictureFile(Buffer.from(completed?.b64_json ?? '', 'base64')).size).toBe('64x64');

    const plain = [];
    for await (const event of await client.images.generate({ ...CIRCLE, n: 2, stream: true }))
      plain.push(event);
    expect(plain.map(({ type }) => type)).toEqual(Array(2).fill('image_generation.completed'));
    expect(new Set(plain.map(({ b64_json }) => b64_json)).size).toBe(2);
  });

  test('Repeated calls of images.generate with one Idempotency-Key make one job, and another request with it is refused', async () => {
    const { client, answers } = openai(stack);
    const options = { headers: { 'Idempotency-Key': 'order-81' } };
    const one = await client.images.generate({ ...CIRCLE, response_format: 'b64_json' }, options);
    const same = await client.images.generate({ ...CIRCLE, response_format: 'b64_json' }, options);
    expect(firstDigest(same)).toBe(firstDigest(one));
    expect(answers.map(({ headers }) => headers.get('idempotency-replayed'))).toEqual([null, 'true']);
    const other = await errorOf(client.images.generate({ ...CIRCLE, prompt: 'a square' }, options));
    expect(other).toBeInstanceOf(UnprocessableEntityError);
    expect(other).toMatchObject({ code: 'idempotency_key_reused', param: null });
    // Without a key, the same prompt gives another picture.
    const [a, b] = [await client.images.generate(CIRCLE), await client.images.generate(CIRCLE)];
    expect(firstDigest(a)).not.toBe(firstDigest(b));
  });
});

describe('refused image requests', () => {
  const REFUSED: readonly [fields: object, param: string | null, code: string][] = [
    [{ prompt: undefined }, 'prompt', 'missing_required_parameter'],
    [{ prompt: null }, 'prompt', 'missing_required_parameter'],
    [{ prompt: '' }, 'prompt', 'invalid_value'],
    [{ prompt: 'x'.repeat(32_001) }, 'prompt', 'invalid_value'],
    [{ n: 0 }, 'n', 'invalid_value'],
    [{ n: 11 }, 'n', 'invalid_value'],
    [{ n: 'two' }, 'n', 'invalid_value'],
    [{ size: '65x64' }, 'size', 'invalid_value'],
    [{ size: '9999x9999' }, 'size', 'invalid_value'],
    [{ size: 'large' }, 'size', 'invalid_value'],
    [{ response_format: 'bytes' }, 'response_format', 'unsupported_value'],
    [{ output_format: 'gif' }, 'output_format', 'unsupported_value'],
    [{ output_compression: 101 }, 'output_compression', 'invalid_value'],
    [{ background: 'transparent' }, 'background', 'unsupported_value'],
    [{ stream: 'yes' }, 'stream', 'invalid_value'],
    [{ stream: true, partial_images: 4 }, 'partial_images', 'invalid_value'],
    [{ steps: 0 }, 'steps', 'invalid_value'],
    [{ seed: -1 }, 'seed', 'invalid_value'],
    [{ stream: true, size: '65x64' }, 'size', 'invalid_value'],
  ];

  test('An invalid field is a BadRequestError that names it and has the request id', async () => {
    const { client, answers } = openai(stack);
    for (const [fields, param, code] of REFUSED) {
      const error = await errorOf(client.images.generate({ ...CIRCLE, ...fields } as typeof CIRCLE));
      expect(error, JSON.stringify(fields).slice(0, 80)).toBeInstanceOf(BadRequestError);
      expect(error).toMatchObject({ status: 400, param, code, type: 'invalid_request_error' });
      expect(Object.keys(error.error as object)).toEqual(['message', 'type', 'param', 'code']);
      expect(error.message).toContain(param);
      expect(error.requestID).toBe(answers.at(-1)?.headers.get('x-request-id'));
      expect(error.requestID).toBeTruthy();
    }
    const model = await errorOf(client.images.generate({ ...CIRCLE, model: 'dall-e-9' }));
    expect(model).toBeInstanceOf(NotFoundError);
    expect(model).toMatchObject({ code: 'model_not_found', param: 'model' });
    const huge = await errorOf(
      client.images.generate({ ...CIRCLE, ...lehrFields({ junk: 'x'.repeat(1_100_000) }) }),
    );
    expect(huge).toMatchObject({ status: 413, code: 'request_too_large', type: 'invalid_request_error' });
    const broken = await errorOf(
      client.post('/images/generations', {
        body: '{"prompt":',
        headers: { 'content-type': 'application/json' },
      }),
    );
    expect(broken).toMatchObject({ status: 400, code: 'invalid_json', param: null });
    const method = await errorOf(client.get('/images/generations'));
    expect(method).toMatchObject({ status: 405, type: 'invalid_request_error' });
  });

  test('A wrong key is an AuthenticationError, and a key without the scope a PermissionDeniedError', async () => {
    const wrongKey = openai({ ...stack, key: 'sk-nobody' });
    const refused = await errorOf(wrongKey.client.images.generate(CIRCLE));
    expect(refused).toBeInstanceOf(AuthenticationError);
    expect(refused).toMatchObject({ code: 'invalid_api_key', type: 'invalid_request_error', param: null });
    expect(await errorOf(wrongKey.client.models.list())).toBeInstanceOf(AuthenticationError);
    const reader = await keyOf(stack, { scopes: ['read'] });
    const { client } = openai({ ...stack, key: reader });
    expect((await client.models.list()).data).toHaveLength(1);
    expect(await errorOf(client.images.generate(CIRCLE))).toBeInstanceOf(PermissionDeniedError);
  });

  test('A request above a limit is a RateLimitError with a Retry-After', async () => {
    const stack = await newTenant(idle, { max_jobs: 1 });
    const hangUp = new AbortController();
    const held = openai(stack)
      .client.images.generate(CIRCLE, { signal: hangUp.signal })
      .catch(() => {});
    await storedJobs(server.url, stack).untilJobs(1);
    const { client, answers } = openai(stack);
    const error = await errorOf(client.images.generate({ ...CIRCLE, prompt: 'another' }));
    expect(error).toBeInstanceOf(RateLimitError);
    expect(error).toMatchObject({ code: 'rate_limit_exceeded', type: 'rate_limit_error', param: null });
    const retryAfter = Number(answers[0]?.headers.get('retry-after'));
    expect(retryAfter).toBeGreaterThanOrEqual(1);
    expect(retryAfter).toBeLessThanOrEqual(60);
    hangUp.abort();
    await held;
  });

  test('A request to a queue that is too long is an InternalServerError with status 503', async () => {
    const stack = await startStack(server, { LEHR_MAX_WAIT_S: '0.01' });
    // More urgent, so it runs first although it is long.
    await stack.post({ steps: 900 }, { priority: 'interactive' });
    const { client, answers } = openai(stack);
    const error = await errorOf(client.images.generate(CIRCLE));
    expect(error).toBeInstanceOf(InternalServerError);
    expect(error).toMatchObject({
      status: 503,
      code: 'server_is_overloaded',
      type: 'service_unavailable_error',
      param: null,
    });
    expect(Number(answers[0]?.headers.get('retry-after'))).toBeLessThanOrEqual(60);
  });
});

/** A key of another tenant. */
async function keyOf(stack: Stack, request: object): Promise<string> {
  const response = await stack.ask('POST', '/v1/keys', { tenant: 'acme', ...request });
  return ((await response.json()) as { key: string }).key;
}

describe('a request whose job fails or is cancelled', () => {
  test('A failed job is a 500 that the client does not retry, streamed or not', async () => {
    const stack = await newTenant(idle);
    const jobs = storedJobs(server.url, stack);
    const { client, answers } = openai(stack, { maxRetries: 2 });
    const call = errorOf(client.images.generate(CIRCLE));
    const [id] = await jobs.untilJobs(1);
    await jobs.fail(id!);
    const error = await call;
    expect(error).toBeInstanceOf(InternalServerError);
    expect(error).toMatchObject({ status: 500, code: 'job_failed', type: 'server_error', param: null });
    expect(error.error).toMatchObject({ job_id: id });
    expect(error.message).toContain('NaN at step 3');
    expect(answers).toHaveLength(1);

    const streamed = errorOf(
      client.images.generate({ ...CIRCLE, stream: true }).then(async (events) => {
        for await (const _ of events);
      }),
    );
    const [, second] = await jobs.untilJobs(2);
    await jobs.fail(second!);
    expect((await streamed).error).toMatchObject({ code: 'job_failed', job_id: second });
  });

  test('A cancelled job is a 409 that the client does not retry', async () => {
    const stack = await newTenant(idle);
    const jobs = storedJobs(server.url, stack);
    const { client, answers } = openai(stack, { maxRetries: 2 });
    const call = errorOf(client.images.generate(CIRCLE));
    const [id] = await jobs.untilJobs(1);
    await stack.ask('POST', `/v1/jobs/${id}/cancel`);
    const error = await call;
    expect(error).toBeInstanceOf(ConflictError);
    expect(error).toMatchObject({ code: 'job_canceled', type: 'invalid_request_error', param: null });
    expect(answers).toHaveLength(1);
  });
});

describe('a held request', () => {
  test('A request that takes longer than its hold ends with 504, and its retries adopt the same job', {
    tags: ['long'],
  }, async () => {
    const stack = await startStack(server, { LEHR_HOLD_S: '1' });
    const jobs = storedJobs(server.url, stack);
    const once = await errorOf(openai(stack).client.images.generate({ ...CIRCLE, prompt: 'a square' }));
    expect(once).toBeInstanceOf(InternalServerError);
    expect(once).toMatchObject({ status: 504, type: 'server_error', code: 'hold_expired', param: null });
    expect(once.headers?.get('x-should-retry')).toBe('true');
    expect(once.headers?.get('retry-after-ms')).toBe('200');
    const [square] = await jobs.jobs();
    expect(once.error).toMatchObject({ job_id: square });

    const { client, answers } = openai(stack, { maxRetries: 100 });
    const call = client.images.generate(CIRCLE);
    await expect.poll(() => answers.length, LONG_WAIT).toBeGreaterThanOrEqual(2);
    const both = await jobs.jobs();
    await stack.worker();
    expect(pictureFile(await bytesOf((await call).data?.[0])).size).toBe('64x64');
    expect(await jobs.jobs()).toEqual(both);
    expect(both).toHaveLength(2);
  });

  test('A request is held for one second less than the timeout of its client', {
    tags: ['long'],
  }, async () => {
    const stack = await startStack(server);
    const { client } = openai(stack);
    // Warms up the connection, because the first call takes longer.
    expect((await client.models.list()).data).not.toEqual([]);
    const error = await errorOf(client.images.generate(CIRCLE, { timeout: 6000 }));
    expect(error).toMatchObject({ status: 504, code: 'hold_expired' });
  });

  test('A request of the client for Python, which names its timeout in another header, is answered before that timeout', async () => {
    const stack = await newTenant(idle);
    const { client } = openai(stack);
    const headers = { 'x-stainless-timeout': null, 'x-stainless-read-timeout': '2.0' };
    // Without the header, this client would give up before the answer.
    const error = await errorOf(client.images.generate(CIRCLE, { timeout: 30_000, headers }));
    expect(error).toMatchObject({ status: 504, code: 'hold_expired' });
  });

  test('The job of a broken connection is adopted by the retry of its request and by no other request', {
    tags: ['long'],
  }, async () => {
    const stack = await startStack(server);
    const jobs = storedJobs(server.url, stack);
    const { client } = openai(stack);
    const disconnect = new AbortController();
    const lost = client.images.generate(CIRCLE, { signal: disconnect.signal }).catch(() => {});
    const [id] = await jobs.untilJobs(1);
    disconnect.abort();
    await lost;
    // The job waits one minute for a retry and is then cancelled.
    await expect.poll(() => jobs.redis.zcard(jobs.keys.abandoned), LONG_WAIT).toBe(1);
    const other = openai(stack)
      .client.images.generate({ ...CIRCLE, prompt: 'another' })
      .catch(() => {});
    await jobs.untilJobs(2);
    const again = client.images.generate(CIRCLE);
    await expect.poll(() => jobs.redis.zcard(jobs.keys.abandoned), LONG_WAIT).toBe(0);
    await stack.worker();
    expect((await again).data).toHaveLength(1);
    await other;
    expect((await jobs.jobs())[0]).toBe(id);
    expect(await jobs.jobs()).toHaveLength(2);
  });

  test('When a server stops, it answers held requests with 503 and keeps their jobs for the retry', async () => {
    const stack = await startStack(server);
    const jobs = storedJobs(server.url, stack);
    const { client, answers } = openai(stack);
    const call = errorOf(client.images.generate(CIRCLE));
    const streamed = errorOf(
      client.images.generate({ ...CIRCLE, prompt: 'another', stream: true }).then(async (events) => {
        for await (const _ of events);
      }),
    );
    await jobs.untilJobs(2);
    await stack.api.stop();
    expect(await call).toMatchObject({ status: 503, code: 'server_is_overloaded' });
    expect(answers.find(({ status }) => status === 503)?.headers.get('retry-after-ms')).toBe('200');
    expect((await streamed).error).toMatchObject({ code: 'server_is_overloaded' });
    for (const id of await jobs.jobs()) expect((await jobs.records.read(id))?.state).toBe('queued');
  });
});
