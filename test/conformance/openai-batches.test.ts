/** Files and batches with the published `openai` client, unchanged but for base URL and key. */
import type OpenAI from 'openai';
import { NotFoundError, toFile } from 'openai';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { feedBatches } from '../../apps/api/src/batches/feeder.ts';
import { API_KEY } from '../support/api-world.ts';
import { whenDone } from '../support/cleanup.ts';
import { keyHolder } from '../support/key-holder.ts';
import { errorOf, openai } from '../support/openai-client.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { embeddingOf, type TextWorld, textWorld } from '../support/text-world.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const PICTURES = 'diffusion.tiny@1.64x64';
const EARS = 'whisper.ears@1';

/** An API that feeds batches, and its client. With `serves`, a worker answers jobs of texts. */
async function batchWorld(serves = false): Promise<{ world: TextWorld; client: OpenAI }> {
  const world = await textWorld(server.url, {}, serves);
  await world.worker.report();
  whenDone(feedBatches(world.parts));
  return { world, client: openai({ url: world.url, key: API_KEY }).client };
}

const lineOf = (url: string, custom_id: string, body: object): object => ({
  custom_id,
  method: 'POST',
  url,
  body,
});

const upload = async ({ files }: OpenAI, lines: readonly (object | string)[]) => {
  const text = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n');
  return files.create({ file: await toFile(Buffer.from(text), 'lines.jsonl'), purpose: 'batch' });
};

/** The types of the client do not know every endpoint. */
const endpointOf = (url: string) => url as '/v1/embeddings';

async function batchOf(client: OpenAI, url: string, bodies: readonly object[]) {
  const lines = bodies.map((body, i) => lineOf(url, `line ${i}`, body));
  const { id: input_file_id } = await upload(client, lines);
  const created = { input_file_id, endpoint: endpointOf(url), completion_window: '24h' } as const;
  return client.batches.create({ ...created, metadata: { run: '7' } });
}

async function ended({ batches }: OpenAI, id: string) {
  let batch = await batches.retrieve(id);
  const status = async () => {
    batch = await batches.retrieve(id);
    return batch.status;
  };
  await expect.poll(status, { timeout: 20_000 }).toMatch(/^(?:completed|failed|expired|cancelled)$/);
  return batch;
}

interface Answer {
  readonly id: string;
  readonly custom_id: string;
  readonly response: {
    readonly status_code: number;
    readonly request_id: string;
    readonly body: object;
  } | null;
  readonly error: object | null;
}

async function answersIn({ files }: OpenAI, id: string | null | undefined): Promise<Answer[]> {
  const text = await (await files.content(id ?? '')).text();
  const lines = text.split('\n');
  expect(lines.pop()).toBe('');
  return lines.map((line) => JSON.parse(line));
}

test('A file with a purpose is created, listed, read and deleted as at OpenAI', async () => {
  const { world, client } = await batchWorld();
  const { files } = client;
  const sent = await upload(client, ['{"a":1}', '{"b":2}']);
  expect(sent).toMatchObject({
    object: 'file',
    bytes: 15,
    filename: 'lines.jsonl',
    purpose: 'batch',
    status: 'processed',
  });
  const picture = await files.create({ purpose: 'vision', file: await toFile(Buffer.from('png'), 'a.png') });
  expect(await files.retrieve(sent.id)).toEqual(sent);
  expect(await (await files.content(sent.id)).text()).toBe('{"a":1}\n{"b":2}');
  const listed = async (query: object): Promise<string[]> => {
    const ids: string[] = [];
    for await (const { id } of files.list(query)) ids.push(id);
    return ids;
  };
  expect(await listed({ limit: 1 })).toEqual([picture.id, sent.id]);
  expect(await listed({ limit: 1, order: 'asc' })).toEqual([sent.id, picture.id]);
  expect(await listed({ purpose: 'batch' })).toEqual([sent.id]);
  expect(await files.delete(sent.id)).toEqual({ id: sent.id, object: 'file', deleted: true });
  expect(await errorOf(files.retrieve(sent.id))).toBeInstanceOf(NotFoundError);
  expect(await listed({})).toEqual([picture.id]);
  const other = await keyHolder(world, 'other');
  expect(await openai({ url: world.url, key: other.key.key }).client.files.list()).toMatchObject({
    data: [],
  });
});

test('A file of lines may be larger than other uploads: it comes back byte for byte, counts as stored, and leaves nothing', async () => {
  const { world, client } = await batchWorld();
  const { files } = client;
  const line = `${JSON.stringify(lineOf('/v1/embeddings', 'x', { input: 'é'.repeat(200) }))}\n`;
  const bytes = Buffer.from(line.repeat(20_000));
  const file = await files.create({ file: await toFile(bytes, 'many.jsonl'), purpose: 'batch' });
  expect(file.bytes).toBe(bytes.byteLength);
  const back = Buffer.from(await (await files.content(file.id)).arrayBuffer());
  expect(back.equals(bytes)).toBe(true);
  const usage = async () => (await world.parts.storage.usage('default' as never)).stored_mb;
  expect(await usage()).toBeCloseTo(bytes.byteLength / 1e6, 2);
  const large = await errorOf(files.create({ file: await toFile(bytes, 'a.png'), purpose: 'vision' }));
  expect(large).toMatchObject({ status: 413, error: { param: 'file', type: 'invalid_request_error' } });
  await files.delete(file.id);
  expect(await usage()).toBe(0);
  const left: string[] = [];
  for await (const key of world.parts.store.list('in/')) left.push(key);
  expect(left).toEqual([]);
});

test("A file that cannot be taken is refused with the error object of OpenAI's API", async () => {
  const { client } = await batchWorld();
  const { files, batches } = client;
  const file = await toFile(Buffer.from('{}'), 'a.jsonl');
  const refused = async (call: PromiseLike<unknown>) => (await errorOf(call)).error;
  const type = 'invalid_request_error';
  expect(await refused(files.create({ file, purpose: 'fine-tune' }))).toEqual({
    message: 'purpose must be one of batch, vision, user_data.',
    ...{ type, param: 'purpose', code: 'unsupported_value' },
  });
  expect(
    await refused(files.create({ file: await toFile(Buffer.from(''), 'a.jsonl'), purpose: 'batch' })),
  ).toEqual({
    message: 'file is empty.',
    ...{ type, param: 'file', code: 'invalid_value' },
  });
  const { id: input_file_id } = await files.create({ file, purpose: 'user_data' });
  const wanted = { endpoint: '/v1/embeddings', completion_window: '24h' } as const;
  expect(await refused(batches.create({ ...wanted, input_file_id }))).toMatchObject({
    type,
    param: 'input_file_id',
  });
  const unknown = { ...wanted, input_file_id: 'file_01jd3v9s6w0000000000000000' };
  expect(await refused(batches.create(unknown))).toMatchObject({ type, code: 'not_found' });
  const chat = { ...wanted, input_file_id, endpoint: '/v1/chat/completions' } as const;
  expect(await refused(batches.create(chat))).toMatchObject({ type, param: 'endpoint' });
});

test('A batch of embeddings is run from its file to its output and error files, in the order of the input', async () => {
  const { client } = await batchWorld(true);
  const inputs = ['a', ['a', 'a red circle'], 'too long '.repeat(20), 'a red circle'];
  const bodies = [...inputs.map((input) => ({ model: 'minilm', input })), { model: 'nothing', input: 'a' }];
  const made = await batchOf(client, '/v1/embeddings', bodies);
  expect(made).toMatchObject({ object: 'batch', endpoint: '/v1/embeddings', completion_window: '24h' });
  expect(made).toMatchObject({ status: 'validating', metadata: { run: '7' } });
  const batch = await ended(client, made.id);
  expect(batch).toMatchObject({ status: 'completed', request_counts: { total: 5, completed: 3, failed: 2 } });
  const answers = await answersIn(client, batch.output_file_id);
  expect(answers.map(({ custom_id }) => custom_id)).toEqual(['line 0', 'line 1', 'line 3']);
  const vectors = answers.map(({ response, error }) => {
    expect(error).toBeNull();
    expect(response?.status_code).toBe(200);
    const body = response?.body as OpenAI.CreateEmbeddingResponse;
    expect(body).toMatchObject({ object: 'list', model: 'minilm@1' });
    return body.data.map(({ embedding }) => embedding);
  });
  expect(vectors).toEqual([
    [embeddingOf('a')],
    [embeddingOf('a'), embeddingOf('a red circle')],
    [embeddingOf('a red circle')],
  ]);
  const errors = await answersIn(client, batch.error_file_id);
  expect(errors).toMatchObject([
    {
      custom_id: 'line 2',
      response: { status_code: 400, body: { error: { code: 'unsupported_value', param: 'input.0' } } },
      error: null,
    },
    {
      custom_id: 'line 4',
      response: { status_code: 404, body: { error: { code: 'model_not_found', param: 'model' } } },
      error: null,
    },
  ]);
  const outputs: string[] = [];
  for await (const { id } of client.files.list({ purpose: 'batch_output' })) outputs.push(id);
  expect(outputs.sort()).toEqual([batch.output_file_id, batch.error_file_id].sort());
  const batches: string[] = [];
  for await (const { id } of client.batches.list({ limit: 1 })) batches.push(id);
  expect(batches).toEqual([made.id]);
});

test('A batch of pictures has their links and their bytes, and one of transcripts the text in the format of each line', async () => {
  const { world, client } = await batchWorld();
  const { worker } = world;
  const bytes = Buffer.from('a drawn picture');
  const formats = ['url', 'b64_json'];
  const pictures = await batchOf(
    client,
    '/v1/images/generations',
    formats.map((response_format) => ({ prompt: 'a', response_format })),
  );
  for (const _ of formats) await worker.succeed(await worker.next(PICTURES), bytes);
  const drawn = await ended(client, pictures.id);
  const [linked, inline] = await answersIn(client, drawn.output_file_id);
  const { data = [] } = { ...linked.response?.body } as OpenAI.ImagesResponse;
  expect(await (await fetch(data[0]?.url ?? '')).text()).toBe('a drawn picture');
  expect(inline.response?.body).toMatchObject({
    data: [{ b64_json: bytes.toString('base64') }],
    size: '64x64',
  });

  const file = 'https://app.example/a.wav';
  const wanted = ['json', 'text', 'verbose_json'];
  const heard = await batchOf(
    client,
    '/v1/audio/transcriptions',
    wanted.map((response_format) => ({ model: 'ears', file, response_format })),
  );
  const transcript = { text: 'a circle', language: 'en', duration: 1, task: 'transcribe', segments: [] };
  for (const _ of wanted) await worker.end(await worker.next(EARS), { transcript });
  const texts = await answersIn(client, (await ended(client, heard.id)).output_file_id);
  expect(texts.map(({ response }) => response?.body)).toMatchObject([
    { text: 'a circle', usage: { seconds: 1 } },
    'a circle\n',
    { text: 'a circle', language: 'english', duration: 1 },
  ]);
});

test("A line that its model refuses has the error of OpenAI's API, with the field of the call", async () => {
  const { client } = await batchWorld();
  const refused = async (url: string, bodies: readonly object[]) => {
    const batch = await ended(client, (await batchOf(client, url, bodies)).id);
    expect(batch).toMatchObject({ status: 'completed', output_file_id: null });
    return (await answersIn(client, batch.error_file_id)).map(({ response }) => response);
  };
  const error = (param: string) => ({ error: { type: 'invalid_request_error', param } });
  const pictures = [
    { prompt: 'a', size: '63x64' },
    { prompt: 'a', model: 'nothing' },
  ];
  expect(await refused('/v1/images/generations', pictures)).toMatchObject([
    { status_code: 400, body: error('size') },
    { status_code: 404, body: error('model') },
  ]);
  expect(await refused('/v1/audio/transcriptions', [{ model: 'ears', file: 'no file' }])).toMatchObject([
    { status_code: 400, body: error('file') },
  ]);
});

test("A file with bad lines fails its batch with OpenAI's code, message and parameter for each line", async () => {
  const { client } = await batchWorld();
  const url = '/v1/embeddings';
  const good = lineOf(url, 'a', { input: 'a' });
  const { id: input_file_id } = await upload(client, [
    good,
    '{"custom_id":',
    good,
    { ...good, custom_id: 'b', url: '/v1/images/edits' },
    { ...good, custom_id: 'c', method: 'GET' },
    { ...good, custom_id: undefined },
  ]);
  const made = await client.batches.create({ input_file_id, endpoint: url, completion_window: '24h' });
  const batch = await ended(client, made.id);
  expect(batch).toMatchObject({ status: 'failed', request_counts: { total: 0 }, output_file_id: null });
  const duplicate =
    'The custom_id for this request is a duplicate of another request. The custom_id parameter must be unique for each request in a batch.';
  expect(batch.errors).toEqual({
    object: 'list',
    data: [
      {
        code: 'invalid_json_line',
        line: 2,
        message: 'This line is not parseable as valid JSON.',
        param: null,
      },
      { code: 'duplicate_custom_id', line: 3, message: duplicate, param: 'custom_id' },
      { code: 'invalid_url', line: 4, message: expect.stringContaining('does not match'), param: 'url' },
      { code: 'invalid_method', line: 5, message: expect.any(String), param: 'method' },
      { code: 'missing_required_parameter', line: 6, message: expect.any(String), param: 'custom_id' },
    ],
  });
});

test('A cancelled batch gives out what is done, and says of each other line that it was cancelled', async () => {
  const { world, client } = await batchWorld();
  const bodies = ['a', 'b', 'c'].map((prompt) => ({ prompt }));
  const made = await batchOf(client, '/v1/images/generations', bodies);
  await world.worker.succeed(await world.worker.next(PICTURES));
  expect((await client.batches.cancel(made.id)).status).toBe('cancelling');
  const batch = await ended(client, made.id);
  expect(batch).toMatchObject({ status: 'cancelled', request_counts: { total: 3, completed: 1, failed: 2 } });
  expect(batch.cancelled_at).toEqual(expect.any(Number));
  expect(await answersIn(client, batch.output_file_id)).toHaveLength(1);
  const errors = await answersIn(client, batch.error_file_id);
  expect(errors.map(({ response, error }) => ({ response, error }))).toEqual(
    errors.map(() => ({ response: null, error: { code: 'batch_cancelled', message: expect.any(String) } })),
  );
  expect(errors).toHaveLength(2);
});
