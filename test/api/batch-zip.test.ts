/** The results of a batch as a zip, over a real Redis and a real store. */
import { execFile } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { unzipSync } from 'fflate';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { BatchRecord } from '../../apps/api/src/batches/batch-store.ts';
import { feedBatches } from '../../apps/api/src/batches/feeder.ts';
import { customIdOf, readPart, writePart, writeSweep } from '../../apps/api/src/batches/slices.ts';
import { openZip } from '../../apps/api/src/batches/zip.ts';
import type { Batch, BatchId, JobId } from '../../packages/shared/src/index.ts';
import type { ObjectStore } from '../../packages/shared/src/objects/index.ts';
import { type ApiWorld, apiWorld } from '../support/api-world.ts';
import { whenDone } from '../support/cleanup.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { tempFolder } from '../support/tiny-models.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const QUEUE = 'diffusion.tiny@1.64x64';
const picture = (prompt: string) => ({ type: 'text-to-image', input: { prompt } });
const names = ['plain', '../../etc/passwd', 'a/b', 'a_b', 'Grün 1', 'last'];

/** An ended batch of a file whose line `last` has failed. */
async function endedBatch(): Promise<{ world: ApiWorld; id: BatchId }> {
  const world = await apiWorld(server.url);
  await world.worker.report();
  const lines = names.map((custom_id) => ({
    custom_id,
    method: 'POST',
    url: '/v1/jobs',
    body: picture(custom_id),
  }));
  const body = new FormData();
  body.append('content', new Blob([lines.map((line) => JSON.stringify(line)).join('\n')]), 'lines.jsonl');
  const file = (await (await world.ask('POST', '/v1/files', undefined, { body })).json()) as { id: string };
  const made = await world.ask('POST', '/v1/batches', { input_file_id: file.id });
  const { id } = (await made.json()) as Batch;
  whenDone(feedBatches(world.parts));
  for (let i = 0; i < names.length; i += 1) {
    const claim = await world.worker.next(QUEUE);
    const prompt = String((await world.parts.records.read(claim.jobId as JobId))?.input.prompt);
    if (prompt === 'last') await world.worker.fail(claim);
    else await world.worker.succeed(claim, Buffer.from(`the picture of ${prompt}`));
  }
  await expect.poll(async () => (await world.parts.batches.read(id as BatchId))?.state).toBe('completed');
  return { world, id: id as BatchId };
}

test('A zip has every picture under a safe name of its line, and the lines of both files', async () => {
  const { world, id } = await endedBatch();
  const response = await world.ask('GET', `/v1/batches/${id}/results.zip`);
  expect(response.headers.get('content-disposition')).toBe(`attachment; filename="${id}.zip"`);
  const bytes = new Uint8Array(await response.arrayBuffer());
  const files = Object.fromEntries(
    Object.entries(unzipSync(bytes)).map(([name, data]) => [name, Buffer.from(data).toString()]),
  );
  expect(Object.keys(files)).toEqual([
    'results.jsonl',
    'errors.jsonl',
    '1-plain.png',
    '2-.._.._etc_passwd.png',
    '3-a_b.png',
    '4-a_b.png',
    '5-Gr_n_1.png',
  ]);
  expect(files['4-a_b.png']).toBe('the picture of a_b');
  const idsOf = (text: string) =>
    [...text.matchAll(/"custom_id":("[^"]*")/g)].map(([, each]) => JSON.parse(each));
  expect(idsOf(files['results.jsonl'])).toEqual(names.slice(0, -1));
  expect(idsOf(files['errors.jsonl'])).toEqual(['last']);
});

test('A zip names the outputs that are gone, breaks off when the store fails, and closes what a reader leaves', async () => {
  const { world, id } = await endedBatch();
  const { parts } = world;
  const batch = await parts.batches.read(id);
  if (!batch) throw new Error('no batch');
  let opened = 0;
  let closed = 0;
  const store = Object.create(parts.store) as ObjectStore;
  store.get = async (key) => {
    if (!key.endsWith('.png')) return parts.store.get(key);
    opened += 1;
    if (opened === 1) return undefined;
    if (opened === 3) throw new Error('the store does not answer');
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new Uint8Array(1000)),
      cancel: () => {
        closed += 1;
      },
    });
    return { ...(await parts.store.get(key)), body } as Awaited<ReturnType<ObjectStore['get']>>;
  };
  const endless = (await openZip({ ...parts, store }, batch)).getReader();
  let read = 0;
  while (read < 20_000) read += (await endless.read()).value?.byteLength ?? 0;
  await endless.cancel();
  expect([opened, closed]).toEqual([2, 1]);

  store.get = async (key) => (key.endsWith('.png') ? undefined : parts.store.get(key));
  const without = await new Response(await openZip({ ...parts, store }, batch)).arrayBuffer();
  const files = unzipSync(new Uint8Array(without));
  expect(Buffer.from(files['missing.txt']).toString().split('\n')).toHaveLength(names.length);

  store.get = async (key) => {
    if (key.endsWith('.png')) throw new Error('the store does not answer');
    return parts.store.get(key);
  };
  const broken = new Response(await openZip({ ...parts, store }, batch)).arrayBuffer();
  await expect(broken).rejects.toThrow('the store does not answer');
});

test('A zip of a batch that has not ended, or whose answers have been deleted, is refused', async () => {
  const world = await apiWorld(server.url);
  const { id } = (await (
    await world.ask('POST', '/v1/batches', { requests: [picture('a')] })
  ).json()) as Batch;
  expect((await world.ask('GET', `/v1/batches/${id}/results.zip`)).status).toBe(409);
  await world.parts.batches.write(id as BatchId, { state: 'expired', reason: 'expired', ended_at: 1 });
  expect((await world.ask('GET', `/v1/batches/${id}/results.zip`)).status).toBe(410);
});

test('A zip of more than 65,535 files is one that unzip and Python open', { tags: ['long'] }, async () => {
  const { world, id } = await endedBatch();
  const { parts } = world;
  const batch = await parts.batches.read(id);
  if (!batch) throw new Error('no batch');
  const [result] = (await readPart(parts.store, batch, 0)).lines;
  // As if a sweep had drawn the same picture again and again.
  const seed = Array.from({ length: 70_000 }, (_, i) => i);
  const sweep = { request: picture('a'), values: { seed } };
  const sliceLines = await writeSweep(parts.store, batch, sweep);
  const slices = seed.length / sliceLines;
  const large: BatchRecord = {
    ...batch,
    source: { from: 'sweep', slice_lines: sliceLines },
    total: seed.length,
    slices,
    failed: 0,
  };
  for (let slice = 0; slice < slices; slice += 1) {
    const lines = seed.slice(slice * sliceLines, (slice + 1) * sliceLines);
    const results = lines.map((line) => ({ ...result, line, custom_id: customIdOf(line) }));
    await writePart(parts.store, large, slice, results);
  }
  const path = join(await tempFolder('zip'), 'all.zip');
  await pipeline(await openZip(parts, large), createWriteStream(path));
  const run = promisify(execFile);
  expect((await run('python3', ['-c', PYTHON, path])).stdout.trim()).toBe('70001');
  const tested = await run('unzip', ['-tq', path]).catch((error) => ({ stdout: String(error.code) }));
  expect(tested.stdout).toMatch(/No errors detected|ENOENT/);
});

const PYTHON =
  'import sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); assert z.testzip() is None; print(len(set(z.namelist())))';
