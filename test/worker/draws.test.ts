import { createHash } from 'node:crypto';
import sharp from 'sharp';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { pngTexts } from '../../packages/shared/src/index.ts';
import { shared } from '../support/cleanup.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { workerWorld } from '../support/worker-world.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const common = shared(async () => {
  const world = await workerWorld(server.url);
  await world.worker();
  return world;
});

test('A queued job becomes stored pictures, each with its own seed, and timings that sum to the total time', async () => {
  const world = common;
  const id = await world.draw({ n: 3, seed: 7, width: 128 });
  const record = await world.reached(id);
  if (record.state !== 'succeeded') throw new Error(JSON.stringify(record));

  expect(record.output.images.map(({ seed }) => seed)).toEqual([7, 8, 9]);
  const pictures = new Set<string>();
  for (const image of record.output.images) {
    const bytes = await world.readObject(image.key);
    expect(createHash('sha256').update(bytes).digest('hex')).toBe(image.sha256);
    expect(await sharp(bytes).metadata()).toMatchObject({ format: 'png', width: 128, height: 64 });
    expect(JSON.parse(pngTexts(bytes).get('lehr') ?? '')).toEqual({
      job: id,
      model: 'tiny@1',
      seed: image.seed,
      steps: 8,
      sampler: 'ddim',
      guidance: 5,
    });
    pictures.add((await sharp(bytes).raw().toBuffer()).toString('base64'));
  }
  expect(pictures.size).toBe(3);

  const { metrics } = record;
  const parts = Object.values(metrics.timings).reduce((sum, part) => sum + part, 0);
  expect(parts).toBe(metrics.total_ms);
  expect(metrics.queue_ms + metrics.run_ms).toBe(metrics.total_ms);
  expect(Math.abs(metrics.total_ms - (record.finished_at - record.created_at))).toBeLessThan(200);
  expect(metrics.batch_size).toBe(3);
  expect(record.attempt).toBe(1);
});

test.each([
  ['webp', 'webp'],
  ['jpeg', 'jpeg'],
] as const)(
  'A picture can be stored as %s, with its parameters in its metadata',
  async (output_format, format) => {
    const world = common;
    const record = await world.reached(
      await world.draw({ output_format, embed_prompt: true, prompt: 'a blue star' }),
    );
    if (record.state !== 'succeeded') throw new Error(JSON.stringify(record));
    const bytes = await world.readObject(record.output.images[0].key);
    const metadata = await sharp(bytes).metadata();
    expect(metadata).toMatchObject({ format, width: 64, height: 64 });
    expect(metadata.exif?.toString('latin1')).toContain('"prompt":"a blue star"');
  },
);

test('24 jobs with different steps, samplers, guidance and lengths of prompts share batches and draw the same pictures as alone', async () => {
  const world = await workerWorld(server.url);
  const samplers = ['ddim', 'euler', 'euler_a', 'dpmpp_2m', 'pndm'] as const;
  const inputs = Array.from({ length: 24 }, (_, i) => ({
    prompt: `picture ${i}`,
    steps: 4 + ((i * 7) % 27),
    sampler: samplers[i % samplers.length],
    guidance: [1, 3, 7.5, 12][i % 4],
    seed: 100 + i,
    // Up to four chunks.
    ...(i % 3 === 0 && {
      prompt: `(picture ${i}:1.2) ${'with a boat '.repeat(1 + (i % 4) * 25)}`,
      prompt_syntax: 'weighted' as const,
    }),
  }));
  const together = await Promise.all(inputs.map((input) => world.draw(input)));
  await world.worker();
  const pixelsOf = async (id: (typeof together)[number]) => {
    const record = await world.reached(id);
    if (record.state !== 'succeeded') throw new Error(JSON.stringify(record));
    const pixels = await sharp(await world.readObject(record.output.images[0].key))
      .raw()
      .toBuffer();
    return { pixels: pixels.toString('base64'), batchSize: record.metrics.batch_size ?? 0 };
  };
  const shared = await Promise.all(together.map(pixelsOf));
  expect(shared.reduce((sum, { batchSize }) => sum + batchSize, 0) / 24).toBeGreaterThan(3);
  for (const [i, input] of inputs.entries()) {
    const alone = await pixelsOf(await world.draw(input));
    expect(alone.batchSize).toBe(1);
    expect(alone.pixels).toBe(shared[i].pixels);
  }
});

test('A sleeping worker finds a job of a size that was never requested before', async () => {
  const world = common;
  await world.reached(await world.draw());
  const record = await world.reached(await world.draw({ width: 96, height: 72 }));
  expect(record).toMatchObject({ state: 'succeeded', output: { images: [{ width: 96, height: 72 }] } });
});

test('A weighted prompt is read to its end: its record has the length, and the file says how it was read', async () => {
  const world = common;
  const input = { prompt: `a (blue:1.3) star ${'in the sky '.repeat(30)}`, negative_prompt: '[red]' };
  const record = await world.reached(await world.draw({ ...input, prompt_syntax: 'weighted', clip_skip: 1 }));
  if (record.state !== 'succeeded') throw new Error(JSON.stringify(record));
  const { prompt_size, negative_prompt_size, truncated_prompt } = record.output;
  expect([prompt_size?.chunks, negative_prompt_size?.chunks, truncated_prompt]).toEqual([2, 1, undefined]);
  const bytes = await world.readObject(record.output.images[0].key);
  expect(JSON.parse(pngTexts(bytes).get('lehr') ?? '')).toMatchObject({ prompt_syntax: 'weighted' });
});

test('A prompt of too many chunks, and a layer that the text encoder lacks, fail their jobs and are named', async () => {
  const world = common;
  const long = { negative_prompt: 'cat '.repeat(8 * 75 + 1), prompt_syntax: 'weighted' } as const;
  for (const [input, pointer] of [
    [long, '/input/negative_prompt'],
    [{ clip_skip: 3 }, '/input/clip_skip'],
  ] as const) {
    const record = await world.reached(await world.draw(input));
    expect(record).toMatchObject({
      state: 'failed',
      error: { code: 'invalid-input', problems: [{ pointer }] },
    });
  }
});

test('The field that the engine refuses a sample for is named in the record of its job', {
  tags: ['long'],
}, async () => {
  const world = await workerWorld(server.url);
  await world.simulated();
  const record = await world.reached(await world.draw({ steps: 60, sampler: 'lcm' }));
  expect(record).toMatchObject({
    state: 'failed',
    error: { code: 'invalid-input', problems: [{ pointer: '/input/steps' }] },
  });
});
