/** What a batch would take, asked before it is made: over a real Redis and a real store. */
import { expect, test } from 'vitest';
import { type BatchEstimate, BatchEstimateSchema } from '../../packages/shared/src/index.ts';
import { type ApiWorld, apiWorld, problemOf } from '../support/api-world.ts';
import { shared, whenDone } from '../support/cleanup.ts';
import { startRedis } from '../support/redis.ts';

const world = shared(async (): Promise<ApiWorld> => {
  const server = await startRedis();
  whenDone(() => server.stop());
  const made = await apiWorld(server.url, { devicePrice: 3600, currency: 'EUR' });
  await made.worker.report();
  return made;
});

const request = { type: 'text-to-image', input: { prompt: 'a', guidance: 4, steps: 8 } };

async function estimate(body: object): Promise<BatchEstimate> {
  const response = await world.ask('POST', '/v1/batches', { ...body, dry_run: true });
  expect(response.status, await response.clone().text()).toBe(200);
  return BatchEstimateSchema.strict().parse(await response.json());
}

/** As its job is priced. */
async function costOf(input: object): Promise<number> {
  const { id } = await world.post({ prompt: 'a', ...input });
  const record = await world.parts.records.read(id as never);
  return (record?.cost ?? 0) / 1000;
}

test('A sweep is counted and priced as its jobs would be, and nothing is made', async () => {
  const { redis } = world.parts;
  const [few, many, plain] = [
    await costOf({ guidance: 4, steps: 8 }),
    await costOf({ guidance: 4, steps: 20 }),
    await costOf({ guidance: 1, steps: 8 }),
  ];
  expect(many).toBeGreaterThan(few);
  const before = await redis.dbsize();
  const values = { prompt: ['a', 'b', 'c'], seed: [1, 2], steps: [8, 20] };
  const found = await estimate({ sweep: { request, values } });
  expect(found).toMatchObject({ total: 12, priced: 2, is_sample: false, refused: 0 });
  expect(found.device_s).toBeCloseTo(6 * few + 6 * many, 6);
  expect(found.duration_s).toBeCloseTo(found.device_s, 6);
  // A second costs one.
  expect(found).toMatchObject({ price: found.device_s, currency: 'EUR' });
  const guided = await estimate({ sweep: { request, values: { guidance: [1, 4], seed: [1, 2, 3] } } });
  expect(guided.device_s).toBeCloseTo(3 * plain + 3 * few, 6);
  expect(await redis.dbsize()).toBe(before);
});

test('Of more different prices some are taken that are spread over all of them', async () => {
  const guidance = Array.from({ length: 1000 }, (_, i) => 2 + i / 1000);
  const found = await estimate({ sweep: { request, values: { guidance, steps: [8, 20] } } });
  expect(found).toMatchObject({ total: 2000, is_sample: true });
  expect(found.priced).toBeGreaterThanOrEqual(128);
  expect(found.priced).toBeLessThanOrEqual(256);
});

test('Of a list and of a file every line is priced, and those that would be refused are counted', async () => {
  const wide = { ...request, input: { prompt: 'a', width: 4096 } };
  const one = await costOf({ guidance: 4, steps: 8 });
  const listed = await estimate({ requests: [request, wide, request] });
  expect(listed).toMatchObject({ total: 3, priced: 3, refused: 1, is_sample: false });
  expect(listed.device_s).toBeCloseTo(2 * one, 6);
  const upload = async (lines: readonly object[]): Promise<string> => {
    const body = new FormData();
    body.append('content', new Blob([lines.map((line) => JSON.stringify(line)).join('\n')]), 'a.jsonl');
    const made = await world.ask('POST', '/v1/files', undefined, { body });
    return ((await made.json()) as { id: string }).id;
  };
  const line = (custom_id: string) => ({ custom_id, method: 'POST', url: '/v1/jobs', body: request });
  const filed = await estimate({ input_file_id: await upload([line('x'), line('y')]) });
  expect(filed).toMatchObject({ total: 2, priced: 2, refused: 0 });
  const bad = { input_file_id: await upload([line('x'), line('x')]), dry_run: true };
  const refused = await world.ask('POST', '/v1/batches', bad);
  expect(refused.status).toBe(422);
  expect((await problemOf(refused)).errors?.[0]).toMatchObject({
    pointer: '/input_file_id',
    detail: expect.stringContaining('line 2: '),
  });
});

test('A batch for which there is no worker has no duration', async () => {
  const found = await estimate({ requests: [{ ...request, model: 'split' }] });
  expect(found.device_s).toBeGreaterThan(0);
  expect(found.duration_s).toBeNull();
});
