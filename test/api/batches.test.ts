/** Batches over a real Redis and a real store, with a worker that the test controls. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createBatch } from '../../apps/api/src/batches/create-batch.ts';
import { feedBatches } from '../../apps/api/src/batches/feeder.ts';
import { pageOfLines } from '../../apps/api/src/batches/lines.ts';
import {
  type Batch,
  type BatchId,
  BatchLineListSchema,
  BatchListSchema,
  BatchRequestSchema,
  BatchSchema,
  type JobId,
  LehrError,
  type ObjectKey,
  type TenantId,
} from '../../packages/shared/src/index.ts';
import type { ObjectStore } from '../../packages/shared/src/objects/index.ts';
import { API_KEY, type ApiWorld, apiWorld, problemOf } from '../support/api-world.ts';
import { whenDone } from '../support/cleanup.ts';
import { keyHolder } from '../support/key-holder.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const QUEUE = 'diffusion.tiny@1.64x64';
const picture = (prompt: string, rest: object = {}) => ({
  type: 'text-to-image',
  input: { prompt, ...rest },
});

/** An API that feeds batches. `feed` starts another process's feeder. */
async function batchWorld(): Promise<ApiWorld & { feed(): () => Promise<void> }> {
  const world = await apiWorld(server.url);
  await world.worker.report();
  const feed = () => {
    const stop = feedBatches(world.parts);
    whenDone(stop);
    return stop;
  };
  return { ...world, feed };
}

const batchOf = async (response: Response): Promise<Batch> => {
  expect(response.status, await response.clone().text()).toBe(200);
  return BatchSchema.strict().parse(await response.json());
};

const create = async ({ ask }: Pick<ApiWorld, 'ask'>, body: object): Promise<Batch> =>
  batchOf(await ask('POST', '/v1/batches', body));

const get = async ({ ask }: Pick<ApiWorld, 'ask'>, id: string): Promise<Batch> =>
  batchOf(await ask('GET', `/v1/batches/${id}`));

async function ended(world: Pick<ApiWorld, 'ask'>, id: string): Promise<Batch> {
  let batch = await get(world, id);
  await expect
    .poll(
      async () => {
        batch = await get(world, id);
        return batch.status;
      },
      { timeout: 20_000 },
    )
    .toMatch(/^(?:completed|failed|expired|cancelled)$/);
  return batch;
}

interface Answer {
  readonly custom_id: string;
  readonly response: {
    status_code: number;
    body: { id: string; input: { seed: number; prompt: string } };
  } | null;
  readonly error: { code: string; message: string } | null;
}

async function answers({ ask }: Pick<ApiWorld, 'ask'>, file: string | null): Promise<Answer[]> {
  const response = await ask('GET', `/v1/files/${file}/content`);
  expect(response.status).toBe(200);
  const text = await response.text();
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Answer);
}

/** Ends so many jobs, each as the function says. */
async function work(world: ApiWorld, count: number, fails = (_prompt: string) => false): Promise<string[]> {
  const prompts: string[] = [];
  for (let i = 0; i < count; i += 1) {
    const claim = await world.worker.next(QUEUE);
    const record = await world.parts.records.read(claim.jobId as JobId);
    const prompt = String(record?.input.prompt);
    prompts.push(prompt);
    if (fails(prompt)) await world.worker.fail(claim);
    else await world.worker.succeed(claim);
  }
  return prompts;
}

test('A batch of requests becomes jobs, and its answers are in the order of the input, those that failed apart', async () => {
  const world = await batchWorld();
  const prompts = ['one', 'two', 'three', 'four'];
  const batch = await create(world, {
    requests: prompts.map((prompt) => picture(prompt)),
    metadata: { run: '7' },
  });
  expect(batch).toMatchObject({ status: 'in_progress', endpoint: '/v1/jobs', metadata: { run: '7' } });
  expect(batch.request_counts).toEqual({ total: 4, completed: 0, failed: 0 });
  world.feed();
  await work(world, 4, (prompt) => prompt === 'two');
  const done = await ended(world, batch.id);
  expect(done).toMatchObject({ status: 'completed', request_counts: { total: 4, completed: 3, failed: 1 } });
  const output = await answers(world, done.output_file_id);
  expect(output.map(({ custom_id, response }) => [custom_id, response?.body.input.prompt])).toEqual([
    ['line-1', 'one'],
    ['line-3', 'three'],
    ['line-4', 'four'],
  ]);
  expect(await answers(world, done.error_file_id)).toMatchObject([
    { custom_id: 'line-2', response: { status_code: 500 }, error: { code: 'numeric-error' } },
  ]);
  const { data } = BatchListSchema.parse(await (await world.ask('GET', '/v1/batches')).json());
  expect(data).toEqual([done]);
});

test('The files of a batch have their true size, whether they were downloaded before or not, and in the list', async () => {
  const world = await batchWorld();
  const batch = await create(world, { requests: ['one', 'two'].map((prompt) => picture(prompt)) });
  world.feed();
  await work(world, 2, (prompt) => prompt === 'two');
  const { output_file_id, error_file_id } = await ended(world, batch.id);
  const sizeOf = async (id: string | null) => {
    const content = await world.ask('GET', `/v1/files/${id}/content`);
    return (await content.arrayBuffer()).byteLength;
  };
  const file = async (id: string | null) =>
    (await (await world.ask('GET', `/v1/files/${id}`)).json()) as { id: string; bytes: number };
  const { bytes } = await file(output_file_id);
  expect(bytes).toBeGreaterThan(0);
  expect(bytes).toBe(await sizeOf(output_file_id));
  const { data } = (await (await world.ask('GET', '/v1/files?purpose=batch_output')).json()) as {
    data: { id: string; bytes: number }[];
  };
  const listed = new Map(data.map((each) => [each.id, each.bytes]));
  expect(listed.get(String(output_file_id))).toBe(bytes);
  expect(listed.get(String(error_file_id))).toBe(await sizeOf(error_file_id));
  expect((await file(error_file_id)).bytes).toBe(listed.get(String(error_file_id)));
});

test('A sweep is counted before a job exists, and its last list varies fastest', async () => {
  const world = await batchWorld();
  const sweep = {
    request: { type: 'text-to-image', input: { width: 64 } },
    values: { prompt: ['a', 'b'], seed: [1, 2] },
  };
  const batch = await create(world, { sweep });
  expect(batch.request_counts.total).toBe(4);
  world.feed();
  await work(world, 4);
  const done = await ended(world, batch.id);
  const lines = await world.ask('GET', `/v1/batches/${batch.id}/lines?limit=3`);
  expect(BatchLineListSchema.strict().parse(await lines.json())).toMatchObject({
    data: [
      { values: { prompt: 'a', seed: 1 } },
      { values: { seed: 2 } },
      { values: { prompt: 'b', seed: 1 } },
    ],
    has_more: true,
  });
  const output = await answers(world, done.output_file_id);
  expect(output.map(({ response }) => [response?.body.input.prompt, response?.body.input.seed])).toEqual([
    ['a', 1],
    ['a', 2],
    ['b', 1],
    ['b', 2],
  ]);
});

test('A sweep of long prompts takes little of Redis, and its slices have as many lines as fit', async () => {
  const world = await batchWorld();
  const prompts = Array.from({ length: 30 }, (_, i) => `${i} ${'圆'.repeat(10_000)}`);
  const values = { prompt: prompts, seed: [1, 2, 3, 4] };
  const { id } = await create(world, { sweep: { request: { type: 'text-to-image' }, values } });
  const { redis, keys, batches } = world.parts;
  expect(await redis.memory('USAGE', keys.batch(id as BatchId))).toBeLessThan(2_000);
  expect(await batches.read(id as BatchId)).toMatchObject({ total: 120, slices: 2 });
  const found: unknown[] = [];
  for (let query = ''; query !== 'null'; ) {
    const response = await world.ask('GET', `/v1/batches/${id}/lines?${query}`);
    const page = BatchLineListSchema.strict().parse(await response.json());
    found.push(...page.data.map((line) => [line.line, line.values]));
    query = page.next_cursor === null ? 'null' : `cursor=${page.next_cursor}`;
  }
  expect(found).toEqual(
    Array.from({ length: 120 }, (_, i) => [i + 1, { prompt: prompts[Math.floor(i / 4)], seed: (i % 4) + 1 }]),
  );
});

test('The lines of a batch are listed with their jobs: before they are made, while they run, and when their answers are stored', async () => {
  const world = await batchWorld();
  const requests = [picture('a'), picture('b', { width: 4096 }), picture('c')];
  const { id } = await create(world, { requests });
  const page = async (query = '') => {
    const response = await world.ask('GET', `/v1/batches/${id}/lines${query}`);
    return BatchLineListSchema.strict().parse(await response.json());
  };
  const states = async () =>
    (await page()).data.map(({ custom_id, job, error }) => [custom_id, job?.status, error?.code]);
  const unmade = [1, 2, 3].map((line) => [`line-${line}`, undefined, undefined]);
  expect(await states()).toEqual(unmade);
  world.feed();
  const refused = ['line-2', undefined, 'invalid-input'];
  await expect
    .poll(states)
    .toEqual([['line-1', 'queued', undefined], refused, ['line-3', 'queued', undefined]]);
  const open = await world.parts.batches.read(id as BatchId);
  if (!open) throw new Error('the batch is gone');
  await work(world, 2, (prompt) => prompt === 'c');
  await ended(world, id);
  // A reader that had the batch before its slice was collected, or before all jobs were made.
  const half = { ...open, open: open.open.map((each) => ({ ...each, jobs: undefined })) };
  for (const earlier of [open, half]) {
    const { lines } = await pageOfLines(world.parts, earlier, 100, undefined);
    expect(lines.map(({ job, error }) => job?.status ?? error?.code)).toEqual([
      'succeeded',
      'invalid-input',
      'failed',
    ]);
  }
  const { redis, keys } = world.parts;
  const { data } = await page();
  await redis.del(...data.flatMap(({ job }) => (job ? [keys.record(job.id as JobId)] : [])));
  expect(await states()).toEqual([
    ['line-1', 'succeeded', undefined],
    refused,
    ['line-3', 'failed', undefined],
  ]);
  const first = await page('?limit=2');
  expect(first.data.map(({ line }) => line)).toEqual([1, 2]);
  const second = await page(`?limit=2&cursor=${first.next_cursor}`);
  expect([second.data.map(({ line }) => line), second.has_more]).toEqual([[3], false]);
  expect((await world.ask('GET', `/v1/batches/${id}/lines?cursor=x`)).status).toBe(400);
});

test('A sweep with a value that no job may have is refused, and names the value or the field that is wrong', async () => {
  const world = await batchWorld();
  const refused = async (input: object, steps: number[]) => {
    const sweep = { request: picture('a', input), values: { steps, seed: [1, 2] } };
    const response = await world.ask('POST', '/v1/batches', { sweep });
    expect(response.status).toBe(422);
    return problemOf(response);
  };
  expect(await refused({}, [8, 0])).toMatchObject({
    type: 'urn:lehr:problem:invalid-input',
    errors: [{ pointer: '/sweep/values/steps/1' }],
  });
  expect(await refused({}, [0, 8])).toMatchObject({ errors: [{ pointer: '/sweep/values/steps/0' }] });
  expect(await refused({ width: -1 }, [8])).toMatchObject({
    errors: [{ pointer: '/sweep/request/input/width' }],
  });
});

test('A line that the model refuses fails alone', async () => {
  const world = await batchWorld();
  const requests = [picture('a', { width: 4096 }), picture('b'), { ...picture('c'), model: 'no-such-model' }];
  const batch = await create(world, { requests });
  world.feed();
  await work(world, 1);
  const done = await ended(world, batch.id);
  expect(done).toMatchObject({ status: 'completed', request_counts: { total: 3, completed: 1, failed: 2 } });
  expect(await answers(world, done.error_file_id)).toMatchObject([
    { custom_id: 'line-1', error: { code: 'invalid-input' } },
    { custom_id: 'line-3', error: { code: 'model-not-found' } },
  ]);
});

test('A file that was uploaded is read, and one with bad lines fails with the number of each', async () => {
  const world = await batchWorld();
  world.feed();
  const upload = async (lines: readonly object[]): Promise<string> => {
    const form = new FormData();
    // As editors of Windows write it.
    const text = `\uFEFF${lines.map((line) => JSON.stringify(line)).join('\r\n')}`;
    form.append('content', new Blob([text]), 'lines.jsonl');
    const headers = { authorization: 'Bearer lehr_test_key_0123456789' };
    const response = await world.app.request('/v1/files', { method: 'POST', headers, body: form });
    return ((await response.json()) as { id: string }).id;
  };
  const line = (custom_id: string) => ({
    custom_id,
    method: 'POST',
    url: '/v1/jobs',
    body: picture(custom_id),
  });
  const good = await create(world, { input_file_id: await upload([line('x'), line('y')]) });
  await work(world, 2);
  const done = await ended(world, good.id);
  expect((await answers(world, done.output_file_id)).map(({ custom_id }) => custom_id)).toEqual(['x', 'y']);
  const bad = await create(world, {
    input_file_id: await upload([line('x'), line('x'), { custom_id: 'z' }]),
  });
  const failed = await ended(world, bad.id);
  expect(failed.status).toBe('failed');
  expect(failed.errors?.data.map(({ line: number, code }) => [number, code])).toEqual([
    [2, 'duplicate_custom_id'],
    [3, 'missing_required_parameter'],
  ]);
});

/** A batch of which ten jobs are there, because its key may have twice as many and batches get half. */
async function halfMade(world: Awaited<ReturnType<typeof batchWorld>>, name: string) {
  const holder = await keyHolder(world, name, { limits: { max_jobs: 20 } });
  const sweep = { request: picture('a'), values: { seed: Array.from({ length: 300 }, (_, i) => i) } };
  const batch = await create(holder, { sweep });
  const stop = world.feed();
  const { redis, keys } = world.parts;
  await expect.poll(() => redis.zcard(keys.live), { timeout: 20_000 }).toBe(10);
  return { holder, batch, stop };
}

test('A cancelled batch makes no more jobs, cancels those that wait, and gives out what is done', async () => {
  const world = await batchWorld();
  const { holder, batch, stop } = await halfMade(world, 'acme');
  await work(world, 2);
  const asked = await batchOf(await holder.ask('POST', `/v1/batches/${batch.id}/cancel`));
  expect(asked.status).toBe('cancelling');
  const done = await ended(holder, batch.id);
  expect(done).toMatchObject({
    status: 'cancelled',
    request_counts: { total: 300, completed: 2, failed: 298 },
  });
  expect(await world.parts.redis.zcard(world.parts.keys.live)).toBe(0);
  expect(await answers(holder, done.output_file_id)).toHaveLength(2);
  const errors = await answers(holder, done.error_file_id);
  expect(errors).toHaveLength(298);
  expect(new Set(errors.map(({ error }) => error?.code))).toEqual(new Set(['batch_cancelled']));
  await stop();
  const retried = await batchOf(await holder.ask('POST', `/v1/batches/${batch.id}/retry`));
  expect(retried).toMatchObject({ status: 'validating', retried_from: batch.id });
  world.feed();
  await expect.poll(async () => (await get(holder, retried.id)).request_counts.total).toBe(298);
});

test('A batch whose window is over expires: what waits is cancelled, and what was not made is said to have expired', async () => {
  const world = await batchWorld();
  const { holder, batch } = await halfMade(world, 'acme');
  const { redis, keys, batches } = world.parts;
  const id = batch.id as BatchId;
  await batches.write(id, { expires_at: 1 });
  await redis.zadd(keys.batchesDue, 0, id);
  const done = await ended(holder, id);
  expect(done).toMatchObject({ status: 'expired', output_file_id: null, request_counts: { failed: 300 } });
  const errors = await answers(holder, done.error_file_id);
  expect(new Set(errors.map(({ error }) => error?.code))).toEqual(new Set(['batch_expired']));
});

test('A batch ends with its reason when its key is revoked, and its jobs run to their end', async () => {
  const world = await batchWorld();
  const { holder, batch } = await halfMade(world, 'acme');
  const other = await keyHolder(world, 'acme');
  await world.ask('DELETE', `/v1/keys/${holder.key.id}`);
  await work(world, 10);
  const done = await ended(other, batch.id);
  expect(done).toMatchObject({
    status: 'failed',
    errors: { data: [{ code: 'key_not_valid' }] },
    request_counts: { completed: 10, failed: 290 },
  });
});

test('A tenant has at most as many unfinished batches, and lines of one, as its key allows', async () => {
  const world = await batchWorld();
  const holder = await keyHolder(world, 'acme', { limits: { max_batches: 1, max_batch_lines: 2 } });
  const requests = [picture('a'), picture('b')];
  const tooLong = await holder.ask('POST', '/v1/batches', { requests: [...requests, picture('c')] });
  expect(tooLong.status).toBe(422);
  await create(holder, { requests });
  const second = await holder.ask('POST', '/v1/batches', { requests });
  expect(second.status).toBe(429);
  expect((await problemOf(second)).detail).toContain('max_batches');
  const kept: string[] = [];
  for await (const key of world.parts.store.list('in/')) kept.push(key);
  expect(kept).toHaveLength(1);
});

test('A batch is made when its tenant may have no more jobs now, and one that waits keeps no other request waiting', async () => {
  const world = await batchWorld();
  const { redis, keys } = world.parts;
  const { ask } = await keyHolder(world, 'acme', { limits: { max_jobs: 4 } });
  const requests = Array.from({ length: 5 }, (_, i) => picture(`p${i}`));
  const { id } = await create({ ask }, { requests });
  world.feed();
  const waits = async () => (await world.parts.batches.read(id as BatchId))?.sent === 2;
  await expect.poll(waits).toBe(true);
  await redis.zadd(keys.batchesDue, 'XX', 0, id);
  await expect.poll(async () => redis.zscore(keys.batchesDue, id)).not.toBe('0');
  for (let i = 0; i < 2; i += 1) expect((await ask('POST', '/v1/jobs', picture('own'))).status).toBe(202);
  expect((await ask('POST', '/v1/jobs', picture('own'))).status).toBe(429);
  expect((await create({ ask }, { requests })).status).toBe('in_progress');
});

test('Batches that are due are taken of as many tenants as possible', async () => {
  const world = await batchWorld();
  const { batches, redis, keys } = world.parts;
  const one = await keyHolder(world, 'acme');
  const other = await keyHolder(world, 'other');
  const requests = [picture('a')];
  const ids: string[] = [];
  for (const holder of [one, one, one, other]) ids.push((await create(holder, { requests })).id);
  for (const [i, id] of ids.entries()) await redis.zadd(keys.batchesDue, i, id);
  const taken = await batches.take({ count: 3, holdMs: 60_000 });
  expect(taken).toEqual([ids[0], ids[3], ids[1]]);
  expect(await batches.take({ count: 3, holdMs: 60_000 })).toEqual([ids[2]]);
});

test('Jobs whose time comes after the window of their batch are refused with the name of the field', async () => {
  const world = await batchWorld();
  const refusalOf = async (body: object) =>
    (await problemOf(await world.ask('POST', '/v1/batches', body))).errors?.map(({ pointer }) => pointer);
  const late = new Date(Date.now() + 3 * 3_600_000).toISOString();
  const sweep = { request: { ...picture('a'), run_at: late }, values: { seed: [1, 2] } };
  expect(await refusalOf({ sweep, completion_window: '2h' })).toEqual(['/sweep/request/run_at']);
  expect((await create(world, { sweep, completion_window: '4h' })).request_counts.total).toBe(2);
  const requests = [picture('a'), { ...picture('b'), delay_s: 7200 }];
  expect(await refusalOf({ requests, completion_window: '2h' })).toEqual(['/requests/1/delay_s']);
});

test('Two feeders of one batch, and one that takes over from the middle of a slice, make each job once', async () => {
  const world = await batchWorld();
  const { keys, redis, batches } = world.parts;
  const requests = Array.from({ length: 300 }, (_, i) => picture(`p${i}`));
  const batch = await create(world, { requests });
  const id = batch.id as BatchId;
  // As a process leaves it that dies after the jobs of 100 lines, and has noted 50.
  const stop = world.feed();
  await expect.poll(() => redis.zcard(keys.live)).toBe(300);
  await stop();
  await redis.hdel(keys.batch(id), 'jobs:0');
  await batches.write(id, { next: 0, sent: 50 });
  await redis.zadd(keys.batchesDue, 0, id);
  world.feed();
  world.feed();
  const prompts = await work(world, 300);
  const done = await ended(world, batch.id);
  expect(done.request_counts).toEqual({ total: 300, completed: 300, failed: 0 });
  expect(new Set(prompts).size).toBe(300);
  const output = await answers(world, done.output_file_id);
  expect(output.map(({ response }) => response?.body.input.prompt)).toEqual(
    requests.map(({ input }) => input.prompt),
  );
  expect(await redis.zcard(keys.jobsOf('default' as never))).toBe(0);
});

test('A line whose job has ended and was deleted is not run again when the batch goes on', async () => {
  const world = await batchWorld();
  const { redis, keys } = world.parts;
  const holder = await keyHolder(world, 'acme', { limits: { max_jobs: 20 } });
  const requests = Array.from({ length: 30 }, (_, i) => picture(`p${i}`));
  const { id } = await create(holder, { requests });
  const stop = world.feed();
  await expect.poll(() => redis.zcard(keys.live)).toBe(10);
  await stop();
  const [deleted] = await redis.zrange(keys.live, '0', '0');
  const first = await work(world, 10);
  expect((await holder.ask('DELETE', `/v1/jobs/${deleted}`)).status).toBe(204);
  await redis.zadd(keys.batchesDue, 0, id);
  world.feed();
  const prompts = [...first, ...(await work(world, 20))];
  expect(new Set(prompts).size).toBe(30);
  const done = await ended(holder, id);
  // What is in neither file would be lost without a word.
  expect(done.request_counts).toEqual({ total: 30, completed: 29, failed: 1 });
  expect(await answers(holder, done.output_file_id)).toHaveLength(29);
  expect(await answers(holder, done.error_file_id)).toMatchObject([
    { error: { code: 'gone', message: 'The job of this line was deleted.' } },
  ]);
});

test('A line at which the server fails every time fails alone after some tries, and the batch goes on', async () => {
  const world = await batchWorld();
  const { redis, keys, batchEndpoints } = world.parts;
  const own = batchEndpoints['/v1/jobs'];
  if (!own) throw new Error('no endpoint');
  const requestOf: typeof own.requestOf = (body, caller) => {
    if (JSON.stringify(body).includes('bad')) throw new TypeError('a fault of the server');
    return own.requestOf(body, caller);
  };
  const { id } = await create(world, { requests: ['one', 'bad', 'two'].map((prompt) => picture(prompt)) });
  whenDone(
    feedBatches({ ...world.parts, batchEndpoints: { ...batchEndpoints, '/v1/jobs': { ...own, requestOf } } }),
  );
  const waiting = async () => {
    // Without the waits between its tries.
    await redis.zadd(keys.batchesDue, 'XX', 0, id);
    return redis.zcard(keys.live);
  };
  await expect.poll(waiting, { timeout: 20_000 }).toBe(2);
  await work(world, 2);
  const done = await ended(world, id);
  expect(done.request_counts).toEqual({ total: 3, completed: 2, failed: 1 });
  expect(await answers(world, done.error_file_id)).toMatchObject([{ custom_id: 'line-2' }]);
});

test('A batch whose lines are no longer in the store ends when it is cancelled or its window is over', async () => {
  const world = await batchWorld();
  const { store, redis, keys, batches } = world.parts;
  const cancelled = await create(world, { requests: [picture('a'), picture('b')] });
  const expired = await create(world, { requests: [picture('c')] });
  const stop = world.feed();
  await expect.poll(() => redis.zcard(keys.live)).toBe(3);
  await stop();
  await work(world, 3);
  const lines: ObjectKey[] = [];
  for await (const key of store.list('in/')) lines.push(key);
  await store.deleteMany(lines);
  await batchOf(await world.ask('POST', `/v1/batches/${cancelled.id}/cancel`));
  await batches.write(expired.id as BatchId, { expires_at: 1 });
  await redis.zadd(keys.batchesDue, 0, cancelled.id, 0, expired.id);
  world.feed();
  const counts = (total: number) => ({ request_counts: { total, completed: 0, failed: total } });
  expect(await ended(world, cancelled.id)).toMatchObject({ status: 'cancelled', ...counts(2) });
  expect(await ended(world, expired.id)).toMatchObject({ status: 'expired', ...counts(1) });
  expect(await redis.exists(keys.batchesDue, keys.openBatchesOf('default' as TenantId))).toBe(0);
});

test('Nothing stays in the store of a batch of which one slice cannot be written', async () => {
  const { parts } = await batchWorld();
  const { store } = parts;
  const failing: Pick<ObjectStore, 'put' | 'deleteMany'> = {
    put: async (key, ...rest) => {
      const kept = await store.put(key, ...rest);
      if (key.endsWith('slice-00001')) throw new LehrError('storage-failed', 'no answer');
      return kept;
    },
    deleteMany: (keys) => store.deleteMany(keys),
  };
  const caller = await parts.authenticator.authenticate(API_KEY);
  if (!caller) throw new Error('the key is not known');
  const requests = Array.from({ length: 300 }, (_, i) => picture(`p${i}`));
  const asked = createBatch(
    { ...parts, store: failing as ObjectStore },
    caller,
    BatchRequestSchema.parse({ requests }),
  );
  await expect(asked).rejects.toMatchObject({ code: 'storage-failed' });
  for await (const key of store.list('in/')) expect.unreachable(key);
});

test('Nothing stays in the store of a batch for which Redis has no memory', async () => {
  const { ask, parts } = await batchWorld();
  const sweep = { request: picture('a'), values: { seed: [1, 2] } };
  await parts.redis.config('SET', 'maxmemory', '1');
  const asked = ask('POST', '/v1/batches', { sweep });
  const { status } = await asked.finally(() => parts.redis.config('SET', 'maxmemory', '0'));
  expect(status).toBe(503);
  for await (const key of parts.store.list('in/')) expect.unreachable(key);
});
