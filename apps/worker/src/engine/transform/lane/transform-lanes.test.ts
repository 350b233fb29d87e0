/** The lanes that transform pictures with real graphs, on a device whose faults the test states. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TinyTransformOptions, writeTinyTransform } from '@lehr/demo-models';
import { type Clock, LehrError, systemClock } from '@lehr/shared';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { Engine } from '../../engine.ts';
import type {
  FromEngine,
  OpenedModel,
  SampleId,
  TransformResult,
  TransformSample,
  TransformToOpen,
} from '../../protocol/messages.ts';
import { onnxRuntime } from '../../runtime/onnx.ts';
import type { InferenceRuntime, RuntimeSession } from '../../runtime/runtime.ts';
import { floatTensor, floatValues, type Tensor } from '../../runtime/tensor.ts';

let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'lehr-engine-transform-'));
});
afterAll(() => rm(root, { recursive: true, force: true }));

/** Replaces a run of the graph; `run` runs it as it is. */
type Fault = (
  rows: number,
  run: () => ReturnType<RuntimeSession['run']>,
) => ReturnType<RuntimeSession['run']>;

const deviceOf = (fault: Fault): InferenceRuntime => ({
  load: async (graph, options) => {
    const session = await onnxRuntime.load(graph, options);
    const { provider, refusals, inputs, outputs, placement } = session;
    const run: RuntimeSession['run'] = (feeds, wanted) =>
      fault(Object.values(feeds)[0].dims[0], () => session.run(feeds, wanted));
    return { provider, refusals, inputs, outputs, placement, run, close: () => session.close() };
  },
});

interface Opened {
  readonly engine: Engine;
  readonly model: OpenedModel;
  readonly posted: readonly FromEngine[];
  transform(picture: Picture, more?: Partial<TransformSample>): Promise<TransformResult>;
}

interface Picture {
  readonly width: number;
  readonly height: number;
  readonly pixels: Uint8Array;
}

let made = 0;

/** A model that is written and opened; `fault` gets the runs after its warm-up. */
async function open(
  graph: TinyTransformOptions,
  more: Partial<TransformToOpen> & {
    readonly rowCap?: number | 'auto';
    readonly warmUp?: Fault;
    readonly clock?: Clock;
  } = {},
  fault: Fault = (_, run) => run(),
): Promise<Opened> {
  const { rowCap = 4, warmUp = (_, run) => run(), clock = systemClock, ...spec } = more;
  const folder = join(root, `${++made}`);
  await writeTinyTransform(folder, graph);
  const posted: FromEngine[] = [];
  let isWarm = false;
  const engine = new Engine({
    runtime: deviceOf((rows, run) => (isWarm ? fault : warmUp)(rows, run)),
    settings: { providers: ['cpu'], threads: 1, rowCap },
    clock,
    post: (message) => posted.push(message),
  });
  const { result } = graph;
  const scale = result === 'picture' ? { scale: graph.scale ?? 2 } : {};
  const model = await engine.open({ ref: 'model@1', task: 'transform', folder, result, ...scale, ...spec });
  isWarm = true;
  const running = engine.run();
  onTestFinished(async () => {
    engine.close();
    await running;
  });
  return {
    engine,
    model,
    posted,
    transform: async (picture, fields) => {
      const sample = sampleOf(picture, fields);
      engine.submit(sample);
      await vi.waitFor(() => expect(endOf(posted, sample.id)).toBeDefined(), 20_000);
      const end = endOf(posted, sample.id);
      if (end?.type !== 'transformed') throw new Error(JSON.stringify(end));
      return end.result;
    },
  };
}

const endOf = (posted: readonly FromEngine[], id: SampleId) =>
  posted.find(
    (message) => (message.type === 'transformed' || message.type === 'failed') && message.sample === id,
  );

const sampleOf = (picture: Picture, more: Partial<TransformSample> = {}): TransformSample => ({
  id: `picture-${++made}` as SampleId,
  task: 'transform',
  model: 'model@1',
  lane: 'transform.model@1',
  topK: 5,
  maxBatchMates: Number.MAX_SAFE_INTEGER,
  ...picture,
  ...more,
});

/** Soft shapes and hard edges. */
function pictureOf(width: number, height: number, seed = 1): Picture {
  const pixels = new Uint8Array(width * height * 3);
  for (let i = 0; i < width * height; i += 1) {
    const [x, y] = [i % width, Math.floor(i / width)];
    pixels[i * 3] = 127 + 120 * Math.sin((x * seed) / 9);
    pixels[i * 3 + 1] = (x * 3 + y * 5 * seed) % 256;
    pixels[i * 3 + 2] = (x >> 4) % 2 === (y >> 3) % 2 ? 240 : 15;
  }
  return { width, height, pixels };
}

const pixelsOf = (result: TransformResult): Uint8Array => {
  if (result.kind !== 'picture') throw new Error(`Wanted a picture, got a ${result.kind}.`);
  return result.pixels;
};

const largest = (a: Uint8Array, b: Uint8Array): number => {
  expect(a.length).toBe(b.length);
  let most = 0;
  for (let i = 0; i < a.length; i += 1) most = Math.max(most, Math.abs(a[i] - b[i]));
  return most;
};

test.each([
  [200, 150],
  [97, 64],
  [64, 200],
])('A picture of %i x %i pixels in tiles is the same as in one run', async (width, height) => {
  const picture = pictureOf(width, height);
  const tiled = await open({ result: 'picture' }, { input: { width: 64, height: 64 } });
  const whole = await open({ result: 'picture' }, { input: { width, height } });
  const result = await tiled.transform(picture);
  expect(result).toMatchObject({ kind: 'picture', width: 2 * width, height: 2 * height });
  // One step of 8 bits, for a value that is rounded another way.
  expect(largest(pixelsOf(result), pixelsOf(await whole.transform(picture)))).toBeLessThanOrEqual(1);
  expect(tiled.model.transform).toEqual({ result: 'picture', scale: 2, tile: 64 });
});

test.each([
  [1, 1],
  [1, 100],
  [7, 3],
])('A picture of %i x %i pixels is enlarged too', async (width, height) => {
  const { transform } = await open({ result: 'picture', scale: 4 }, { input: { multiple: 32, width: 32 } });
  const result = await transform(pictureOf(width, height));
  expect(result).toMatchObject({ width: 4 * width, height: 4 * height });
  expect(pixelsOf(result)).toHaveLength(16 * width * height * 3);
});

test('Tiles of two jobs share runs, and neither picture changes', async () => {
  const input = { width: 64, height: 64 };
  const rows: number[] = [];
  const both = await open({ result: 'picture' }, { input }, (count, run) => {
    rows.push(count);
    return run();
  });
  const pictures = [pictureOf(200, 150), pictureOf(150, 90, 3)];
  const together = pictures.map((picture) => both.transform(picture));
  const alone = await open({ result: 'picture' }, { input, rowCap: 1 });
  for (const [i, picture] of pictures.entries()) {
    expect(
      largest(pixelsOf(await together[i]), pixelsOf(await alone.transform(picture))),
    ).toBeLessThanOrEqual(1);
  }
  expect(Math.max(...rows)).toBe(4);
  const sizes = both.posted.flatMap((message) => (message.type === 'transformed' ? [message.batchSize] : []));
  expect(Math.max(...sizes)).toBeGreaterThan(1);
});

test('A picture of one tile does not wait for one of many', async () => {
  const { engine, posted, transform } = await open(
    { result: 'picture' },
    { input: { width: 32, height: 32 }, rowCap: 2 },
  );
  const large = sampleOf(pictureOf(400, 400));
  engine.submit(large);
  await transform(pictureOf(20, 20));
  expect(endOf(posted, large.id)).toBeUndefined();
  await vi.waitFor(() => expect(endOf(posted, large.id)).toMatchObject({ type: 'transformed' }), 20_000);
});

test('A cancel between two runs ends a picture, of which nothing more is posted', async () => {
  const opened = await open({ result: 'picture' }, { input: { width: 32, height: 32 } }, (_, run) => {
    opened.engine.cancel(large.id);
    return run();
  });
  const large = sampleOf(pictureOf(300, 300));
  opened.engine.submit(large);
  await opened.transform(pictureOf(30, 30, 2));
  expect(opened.posted).toContainEqual({ type: 'canceled', sample: large.id });
  expect(endOf(opened.posted, large.id)).toBeUndefined();
});

test('A picture that was in a crashed batch runs with as few others as it may', async () => {
  const { posted, transform } = await open({ result: 'picture' }, { input: { width: 32, height: 32 } });
  const wary = sampleOf(pictureOf(100, 32));
  await Promise.all([
    transform(wary, { maxBatchMates: 1, id: wary.id }),
    transform(pictureOf(100, 32, 2)),
    transform(pictureOf(100, 32, 3)),
  ]);
  const withIt = posted.filter((message) => message.type === 'running' && message.samples.includes(wary.id));
  expect(withIt.length).toBeGreaterThan(0);
  for (const message of withIt) expect(message).toMatchObject({ samples: [wary.id] });
});

test('A run that does not fit into memory is split, and later runs fit', async () => {
  let refused = 0;
  const { posted, transform } = await open(
    { result: 'picture' },
    { input: { width: 32, height: 32 } },
    async (rows, run) => {
      if (rows <= 2) return run();
      refused += 1;
      throw new LehrError('out-of-memory', `no memory for ${rows} rows`);
    },
  );
  await transform(pictureOf(200, 200));
  expect(refused).toBe(1);
  expect(posted).toContainEqual({ type: 'row-cap', lane: 'transform.model@1', rows: 2 });
});

test('On a device that takes no longer for more rows, a run has as many as have 16 MB of results, and 32 at most', async () => {
  const rows: number[] = [];
  const free: Fault = (count, run) => {
    rows.push(count);
    return run();
  };
  /** A clock on which every run takes a ms. */
  const clock = { ...systemClock, monotonic: () => rows.length };
  const upscaler = await open({ result: 'picture' }, { rowCap: 'auto', warmUp: free, clock });
  expect([upscaler.model.rowCap, Math.max(...rows)]).toEqual([5, 4]);
  const classifier = await open({ result: 'class' }, { rowCap: 'auto', warmUp: free, clock });
  expect([classifier.model.rowCap, Math.max(...rows)]).toEqual([32, 32]);
});

test('A row of which the graph makes no numbers fails its picture, and the others of the run are done', async () => {
  let runs = 0;
  const spoil = (values: Tensor): Tensor => {
    const spoiled = floatValues(values).slice();
    spoiled[0] = Number.NaN;
    return floatTensor('float32', spoiled, values.dims);
  };
  const opened = await open({ result: 'mask' }, {}, async (_, run) => {
    runs += 1;
    const outputs = await run();
    return Object.fromEntries(Object.entries(outputs).map(([name, values]) => [name, spoil(values)]));
  });
  const [first, second] = [sampleOf(pictureOf(40, 40)), sampleOf(pictureOf(40, 40, 2))];
  opened.engine.submit(first);
  opened.engine.submit(second);
  await vi.waitFor(() => expect(endOf(opened.posted, second.id)).toBeDefined(), 20_000);
  expect(runs).toBe(1);
  expect(endOf(opened.posted, first.id)).toMatchObject({
    type: 'failed',
    failure: { code: 'numeric-error' },
  });
  expect(endOf(opened.posted, second.id)).toMatchObject({ type: 'transformed' });
});

test.each([
  { name: 'of half precision', dtype: 'float16' as const },
  { name: 'with the channels last', channelsLast: true },
  { name: 'of one size', size: { width: 64, height: 64 } },
  { name: 'of three rows a run', rows: 3 },
  { name: 'below onnx/', below: true },
])('A graph $name gives the same picture', async ({ name: _, ...graph }) => {
  const input = { width: 64, height: 64 };
  const picture = pictureOf(150, 90);
  const plain = await open({ result: 'picture' }, { input });
  const other = await open({ result: 'picture', ...graph }, { input });
  const [wanted, found] = [await plain.transform(picture), await other.transform(picture)];
  expect(largest(pixelsOf(found), pixelsOf(wanted))).toBeLessThanOrEqual(graph.dtype ? 2 : 1);
});

test('A mask has the size of its picture, whatever the graph takes', async () => {
  const processor = { do_resize: true, size: { height: 32, width: 48 }, do_normalize: false };
  const { transform } = await open({ result: 'mask', processor });
  const result = await transform(pictureOf(101, 57));
  expect(result).toMatchObject({ kind: 'mask', width: 101, height: 57 });
  if (result.kind === 'mask') expect(result.values).toHaveLength(101 * 57);
});

test('A graph that takes multiples of 32 gets the picture continued, and its mask is cut to the picture', async () => {
  const picture = pictureOf(70, 40);
  const padded = await open({ result: 'mask' }, { input: { multiple: 32 } });
  const free = await open({ result: 'mask' });
  const [a, b] = [await padded.transform(picture), await free.transform(picture)];
  if (a.kind !== 'mask' || b.kind !== 'mask') throw new Error('Wanted masks.');
  const inner = (values: Uint8Array) => values.filter((_, i) => i % 70 < 68 && i < 70 * 38);
  expect(largest(inner(a.values), inner(b.values))).toBeLessThanOrEqual(1);
});

test('A picture that is so narrow that it would be resized to millions of pixels is refused at once', async () => {
  const processor = {
    size: { shortest_edge: 64 },
    crop_size: { height: 64, width: 64 },
    do_center_crop: true,
  };
  const { transform, engine, posted } = await open({ result: 'class', processor });
  expect(await transform(pictureOf(65_000, 66))).toMatchObject({ kind: 'class' });
  const narrow = sampleOf(pictureOf(65_000, 1));
  engine.submit(narrow);
  expect(endOf(posted, narrow.id)).toMatchObject({
    type: 'failed',
    failure: {
      code: 'invalid-input',
      message: expect.stringContaining('has 65000x1 pixels, which the model takes as 4160000x64'),
      problems: [{ pointer: '/input/image' }],
    },
  });
});

test('Depth reaches from 0 to 255 in every picture', async () => {
  const { transform } = await open({ result: 'mask', output: 'predicted_depth' });
  const result = await transform(pictureOf(64, 64));
  if (result.kind !== 'mask') throw new Error('Wanted a mask.');
  expect([Math.min(...result.values), Math.max(...result.values)]).toEqual([0, 255]);
});

test('A class has the best labels of the config first, and those of models.yaml win', async () => {
  const own = await open({ result: 'class' });
  const result = await own.transform(pictureOf(64, 64), { topK: 2 });
  if (result.kind !== 'class') throw new Error('Wanted a class.');
  expect(result.labels).toHaveLength(2);
  expect(result.labels[0].score).toBeGreaterThanOrEqual(result.labels[1].score);
  expect(own.model.transform).toEqual({ result: 'class', scale: 1, labels: ['cat', 'dog', 'teapot'] });
  const named = await open({ result: 'class' }, { labels: ['a', 'b', 'c'] });
  const renamed = await named.transform(pictureOf(64, 64));
  if (renamed.kind !== 'class') throw new Error('Wanted a class.');
  expect(renamed.labels.map(({ label }) => label).sort()).toEqual(['a', 'b', 'c']);
  const sum = renamed.labels.reduce((total, { score }) => total + score, 0);
  expect(sum).toBeCloseTo(1, 5);
});

test.each([
  [{ result: 'picture' } as const, { scale: 4 }, /models.yaml says scale: 4/],
  [{ result: 'class' } as const, { labels: ['one'] }, /wanted scores of 1 labels/],
  [{ result: 'picture' } as const, { result: 'mask' } as const, /wanted 1 channels for a mask/],
  [{ result: 'picture' } as const, { input: { channels: 'grey' } } as const, /takes 3 channels/],
  [{ result: 'picture' } as const, { variant: '_missing' }, /model_missing.onnx/],
])('A model that is not what models.yaml says is not opened: %j %j', async (graph, spec, reason) => {
  await expect(open(graph, spec)).rejects.toMatchObject({
    code: 'model-unavailable',
    message: expect.stringMatching(reason),
  });
});
