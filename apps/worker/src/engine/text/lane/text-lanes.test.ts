/** The text lanes of the engine with a real graph, on a device whose faults and durations the test states. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeTinyDiffusion } from '@lehr/demo-models';
import { type Clock, LehrError, systemClock } from '@lehr/shared';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { textSample } from '../../../../../../test/support/text-engine.ts';
import { unpackTextFixture } from '../../../../../../test/support/text-fixtures.ts';
import { Engine } from '../../engine.ts';
import type { DiffusionSample, FromEngine, SampleId, TextSample } from '../../protocol/messages.ts';
import { onnxRuntime } from '../../runtime/onnx.ts';
import type { InferenceRuntime, RuntimeSession } from '../../runtime/runtime.ts';
import type { TextModel } from '../folder/text-folder.ts';
import type { EncodedText } from '../tokenizer.ts';
import { warmUpText } from './text-lanes.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lehr-engine-text-'));
  await writeTinyDiffusion(join(folder, 'diffusion'), { seed: 5 });
  unpackTextFixture('bert-sentences', join(folder, 'text'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

type Feeds = Parameters<RuntimeSession['run']>[0];

/** Called before each run of a graph, by its path; the run fails with what it throws. */
type BeforeRun = (path: string, feeds: Feeds) => void | Promise<void>;

const deviceOf = (beforeRun: BeforeRun): InferenceRuntime => ({
  load: async (graph, options) => {
    const session = await onnxRuntime.load(graph, options);
    const { provider, refusals, inputs, outputs, placement } = session;
    const run: RuntimeSession['run'] = async (feeds, wanted) => {
      await beforeRun(graph.path, feeds);
      return session.run(feeds, wanted);
    };
    return { provider, refusals, inputs, outputs, placement, run, close: () => session.close() };
  },
});

interface EngineOptions {
  readonly rowCap?: number;
  readonly clock?: { monotonic(): number };
  readonly withDiffusion?: boolean;
}

/** An engine whose warm-up is over; `beforeRun` gets the runs after it. */
async function engineOf(
  beforeRun: BeforeRun,
  { rowCap, clock, withDiffusion = false }: EngineOptions = {},
): Promise<{ engine: Engine; ofType: OfType }> {
  const posted: FromEngine[] = [];
  let isWarm = false;
  const engine = new Engine({
    runtime: deviceOf((path, feeds) => (isWarm ? beforeRun(path, feeds) : undefined)),
    settings: { providers: ['cpu'], threads: 1, rowCap: rowCap ?? 'auto' },
    clock: { ...systemClock, ...clock },
    post: (message) => posted.push(message),
  });
  await engine.open({ ref: 'model@1', task: 'text', folder: join(folder, 'text') });
  if (withDiffusion) {
    const warmUp = { width: 64, height: 64 };
    await engine.open({ ref: 'tiny@1', task: 'diffusion', folder: join(folder, 'diffusion'), warmUp });
  }
  isWarm = true;
  const running = engine.run();
  onTestFinished(async () => {
    engine.close();
    await running;
  });
  const ofType: OfType = (type) =>
    posted.filter((message): message is Extract<FromEngine, { type: typeof type }> => message.type === type);
  return { engine, ofType };
}

type OfType = <Type extends FromEngine['type']>(type: Type) => Extract<FromEngine, { type: Type }>[];

/** A job of texts of four ids each, which begin with `first`. */
const jobOf = (first: number, count: number): TextSample =>
  textSample({
    texts: Array.from({ length: count }, (_, i) => [first, 10 + (i % 50), 20, 30]),
    work: { type: 'text-embedding', normalize: null, dimensions: null },
  });

const tokensOf = ({ input_ids: ids }: Feeds): number => ids.dims[0] * ids.dims[1];
const has = ({ input_ids: ids }: Feeds, id: number): boolean => Array.from(ids.data, Number).includes(id);

const embeddings = (ofType: OfType, id: SampleId): Float32Array => {
  const answered = ofType('answered').find(({ sample }) => sample === id);
  if (answered?.answers.type !== 'text-embedding') throw new Error(`${id} has no embeddings.`);
  return answered.answers.values;
};

const distance = (a: Float32Array, b: Float32Array): number =>
  Math.max(...a.map((value, i) => Math.abs(value - b[i])));

test('A run that does not fit into memory is split, every job is answered as on a large device, and later runs fit', async () => {
  const largest = 30;
  let refused = 0;
  // Ten texts of six tokens, which every budget allows.
  const options = { rowCap: 10 };
  const small = await engineOf((_, feeds) => {
    if (tokensOf(feeds) <= largest) return;
    refused += 1;
    throw new LehrError('out-of-memory', `no memory for ${tokensOf(feeds)} tokens`);
  }, options);
  const large = await engineOf(() => {}, options);
  const jobs = [jobOf(5, 20), jobOf(6, 20), jobOf(7, 20)];
  for (const job of jobs) for (const { engine } of [small, large]) engine.submit(job);
  for (const { ofType } of [small, large]) {
    await vi.waitFor(() => expect(ofType('answered')).toHaveLength(jobs.length), 15_000);
  }
  expect(small.ofType('failed')).toEqual([]);
  for (const { id } of jobs) {
    expect(distance(embeddings(small.ofType, id), embeddings(large.ofType, id))).toBeLessThan(1e-6);
  }
  expect(refused).toBeGreaterThan(0);
  const before = refused;
  const last = jobOf(8, 40);
  small.engine.submit(last);
  await vi.waitFor(() => expect(small.ofType('answered')).toHaveLength(jobs.length + 1), 15_000);
  expect(refused).toBe(before);
});

test('A text that the graph cannot run fails its own job, and the jobs of the same run are answered', async () => {
  const bad = 99;
  const { engine, ofType } = await engineOf((_, feeds) => {
    if (has(feeds, bad)) throw new Error('the graph failed');
  });
  const jobs = [jobOf(5, 6), jobOf(bad, 6), jobOf(7, 6)];
  for (const job of jobs) engine.submit(job);
  await vi.waitFor(
    () => expect(ofType('answered').length + ofType('failed').length).toBe(jobs.length),
    15_000,
  );
  expect(ofType('failed')).toMatchObject([{ sample: jobs[1].id, failure: { code: 'engine-failed' } }]);
  expect(
    ofType('answered')
      .map(({ sample }) => sample)
      .sort(),
  ).toEqual([jobs[0].id, jobs[2].id].sort());
});

test('A cancel in the middle of a job of many texts ends its runs, and the lane takes the next job', async () => {
  const cancelled = jobOf(98, 500);
  const next = jobOf(6, 4);
  let runs = 0;
  const { engine, ofType } = await engineOf(
    (_, feeds) => {
      if (!has(feeds, 98)) return;
      runs += 1;
      if (runs === 3) {
        engine.cancel(cancelled.id);
        engine.submit(next);
      }
    },
    { rowCap: 4 },
  );
  engine.submit(cancelled);
  await vi.waitFor(() => expect(ofType('answered')).toHaveLength(1), 15_000);
  expect(ofType('answered')).toMatchObject([{ sample: next.id }]);
  expect(ofType('canceled')).toEqual([{ type: 'canceled', sample: cancelled.id }]);
  expect(ofType('failed')).toEqual([]);
  expect(runs).toBe(3);
});

const STEP_MS = 50;
const TEXT_RUN_MS = 10;

test('Beside pictures, texts get half of the device by measured time, and so do pictures beside many texts', async () => {
  const used = { picture: 0, text: 0 };
  let now = 0;
  const { engine, ofType } = await engineOf(
    (path) => {
      const isText = path.startsWith(join(folder, 'text'));
      if (!isText && !path.includes('unet')) return;
      const ms = isText ? TEXT_RUN_MS : STEP_MS;
      used[isText ? 'text' : 'picture'] += ms;
      now += ms;
      // Both have had work all the time until the first of them ends.
      if (ofType('answered').length + ofType('finished').length > 0) return;
      const apart = Math.abs(used.text - used.picture);
      expect(apart, `after ${now} ms`).toBeLessThanOrEqual(STEP_MS + TEXT_RUN_MS);
    },
    { rowCap: 4, clock: { monotonic: () => now }, withDiffusion: true },
  );
  const picture: DiffusionSample = {
    id: 'picture' as SampleId,
    task: 'diffusion',
    model: 'tiny@1',
    lane: 'diffusion.tiny@1.64x64',
    prompt: 'a red circle',
    negativePrompt: '',
    width: 64,
    height: 64,
    steps: 60,
    guidance: 1,
    seed: 1,
    sampler: 'ddim',
    maxBatchMates: 99,
  };
  const texts = jobOf(5, 400);
  engine.submit(picture);
  engine.submit(texts);
  await vi.waitFor(() => {
    expect(ofType('answered')).toHaveLength(1);
    expect(ofType('finished')).toHaveLength(1);
  }, 30_000);
  expect(ofType('failed')).toEqual([]);
  expect(used).toEqual({ picture: 60 * STEP_MS, text: 100 * TEXT_RUN_MS });
});

/** A model of short texts whose outputs have so many floats for each token. */
function modelOf(width: number, seen: number[]): TextModel {
  const run = async (texts: readonly EncodedText[]) => {
    seen.push(texts.reduce((sum, { ids }) => sum + ids.length, 0));
    return texts.map(({ ids }) => ({
      logits: { values: new Float32Array(0), positions: ids.length, width },
    }));
  };
  return {
    tokenizer: { maxTokens: 8192, padId: 0, mask: undefined },
    graph: { run },
    reading: { outputs: { 'fill-mask': 'logits' } },
  } as unknown as TextModel;
}

test('The outputs of a run take at most 256 MB, also where one text of the most tokens would take more', async () => {
  const seen: number[] = [];
  const width = 250_000;
  const budget = await warmUpText(modelOf(width, seen), systemClock as Clock);
  expect(budget.ceiling * width * 4).toBeLessThanOrEqual(256 * 2 ** 20);
  expect(Math.max(...seen)).toBeLessThanOrEqual(budget.ceiling);
});
