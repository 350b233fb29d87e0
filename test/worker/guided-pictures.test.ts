/** The engine draws pictures that ControlNets guide: what models make of their pictures first, second passes, checkpoints, cancels and splits. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { Engine } from '../../apps/worker/src/engine/engine.ts';
import type {
  DiffusionSample,
  FromEngine,
  OpenedModel,
  SampleId,
} from '../../apps/worker/src/engine/protocol/messages.ts';
import { onnxRuntime } from '../../apps/worker/src/engine/runtime/onnx.ts';
import type { InferenceRuntime } from '../../apps/worker/src/engine/runtime/runtime.ts';
import { writeTinyTransform } from '../../packages/demo-models/src/index.ts';
import { systemClock } from '../../packages/shared/src/index.ts';
import { unpackFixture } from '../support/diffusion-fixtures.ts';
import { faultyDevice } from '../support/faulty-device.ts';

let folder: string;
/** For all tests, because opening the models takes most of the time. */
let shared: OpenEngine;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lehr-guided-'));
  for (const fixture of ['sd15', 'sd15-control']) unpackFixture(fixture, folder);
  await writeTinyTransform(join(folder, 'larger'), { result: 'picture', scale: 2 });
  await writeTinyTransform(join(folder, 'mask'), { result: 'mask' });
  await writeTinyTransform(join(folder, 'judge'), { result: 'class' });
  shared = await open();
}, 120_000);
beforeEach(() => shared.forget());
afterAll(async () => {
  await shared?.close();
  await rm(folder, { recursive: true, force: true });
});

type Of<Type extends FromEngine['type']> = Extract<FromEngine, { type: Type }>;

interface OpenEngine {
  readonly engine: Engine;
  readonly opened: OpenedModel;
  /** Runs of graphs of the models that transform pictures, after their opening. */
  runsOf(name: string): number;
  ofType<Type extends FromEngine['type']>(type: Type): Of<Type>[];
  draw(...samples: readonly DiffusionSample[]): Promise<Uint8Array[]>;
  /** Drops what the engine has said and run so far. */
  forget(): void;
  close(): Promise<void>;
}

async function open(maxRows = 99): Promise<OpenEngine> {
  const posted: FromEngine[] = [];
  const ofType = <Type extends FromEngine['type']>(type: Type) =>
    posted.filter((message): message is Of<Type> => message.type === type);
  const runs: string[] = [];
  const engine = new Engine({
    runtime: faultyDevice(counting(runs), maxRows),
    settings: {
      providers: ['cpu'],
      rowCap: 8,
      threads: 1,
      checkpoints: { everySteps: 2, everyMs: 3_600_000, bytesPerS: 1e9 },
    },
    clock: systemClock,
    post: (message) => void posted.push(message),
  });
  const opened = await engine.open({
    ref: 'sd15@1',
    task: 'diffusion',
    folder,
    warmUp: { width: 64, height: 64 },
    controls: ['edges', 'depth', 'missing'].map((name) => ({ name, folder: join(folder, 'controls', name) })),
  });
  for (const [name, result] of [
    ['larger', 'picture'],
    ['mask', 'mask'],
    ['judge', 'class'],
  ] as const)
    await engine.open({
      ref: `${name}@1`,
      task: 'transform',
      folder: join(folder, name),
      result,
      ...(result === 'picture' && { scale: 2 }),
    });
  const forget = () => {
    posted.length = 0;
    runs.length = 0;
  };
  forget();
  const running = engine.run();
  const pixelsOf = (id: SampleId) => ofType('finished').find(({ sample }) => sample === id)?.pixels;
  return {
    engine,
    opened,
    runsOf: (name) => runs.filter((path) => path.includes(`/${name}/`)).length,
    ofType,
    draw: async (...samples) => {
      for (const sample of samples) engine.submit(sample);
      await vi.waitFor(() => {
        expect(ofType('failed')).toEqual([]);
        for (const { id } of samples) expect(pixelsOf(id)).toBeDefined();
      }, 60_000);
      return samples.map(({ id }) => pixelsOf(id) as Uint8Array);
    },
    forget,
    close: async () => {
      engine.close();
      await running;
    },
  };
}

/** Closes at the end of the test. */
async function openAnother(maxRows?: number): Promise<OpenEngine> {
  const another = await open(maxRows);
  onTestFinished(() => another.close());
  return another;
}

const counting = (runs: string[]): InferenceRuntime => ({
  load: async (graph, options) => {
    const session = await onnxRuntime.load(graph, options);
    const { run } = session;
    session.run = (...given) => {
      runs.push(graph.path);
      return run.apply(session, given);
    };
    return session;
  },
});

let made = 0;
const request = (fields: Partial<DiffusionSample> = {}): DiffusionSample => ({
  id: `guided-${++made}` as SampleId,
  task: 'diffusion',
  model: 'sd15@1',
  lane: 'sd15@1.64x64',
  prompt: 'a red circle',
  negativePrompt: '',
  width: 64,
  height: 64,
  steps: 4,
  guidance: 5,
  seed: 1,
  sampler: 'euler',
  maxBatchMates: 99,
  ...fields,
});

const picture = (factor = 37): Uint8Array =>
  Uint8Array.from({ length: 64 * 64 * 3 }, (_, i) => (i * factor) % 256);

type Use = NonNullable<DiffusionSample['controls']>[number];
const use = (fields: Partial<Use> = {}): Use => ({
  name: 'edges',
  pixels: picture(),
  scale: 1,
  start: 0,
  end: 1,
  ...fields,
});

const LONG = { timeout: 120_000 };

test(
  'A ControlNet that cannot be opened leaves its model open, and is refused by name with the reason',
  LONG,
  async () => {
    const { engine, opened, ofType } = shared;
    expect(opened.controls).toEqual([
      { name: 'edges' },
      { name: 'depth' },
      { name: 'missing', problem: 'config.json could not be read.' },
    ]);
    engine.submit(request({ controls: [use(), use({ name: 'missing' })] }));
    engine.submit(request({ controls: [use({ name: 'other' })] }));
    engine.submit(request({ controls: [use({ preprocess: 'judge@1' })] }));
    engine.submit(request({ controls: [use({ preprocess: 'closed@1' })] }));
    expect(ofType('failed').map(({ failure: { code, problems } }) => [code, problems?.[0].pointer])).toEqual([
      ['invalid-input', '/input/control/1/name'],
      ['invalid-input', '/input/control/0/name'],
      ['invalid-input', '/input/control/0/preprocess'],
      ['model-unavailable', undefined],
    ]);
    const [missing, other] = ofType('failed').map(({ failure }) => failure.message);
    expect(missing).toContain('config.json could not be read.');
    expect(other).toBe('/input/control/0/name is no ControlNet of sd15@1.');
  },
);

test(
  'A model makes a control picture once for all samples that have it, and it guides as if it had been given',
  LONG,
  async () => {
    const { draw, runsOf, engine, ofType } = shared;
    const controls = [use({ name: 'depth', preprocess: 'mask@1' })];
    const [first, second, third] = await draw(
      request({ controls }),
      request({ controls, seed: 2 }),
      request({ controls: [use({ preprocess: 'larger@1' }), ...controls] }),
    );
    expect([runsOf('mask'), runsOf('larger')]).toEqual([1, 1]);
    expect(first).not.toEqual(second);
    expect(first).not.toEqual(third);

    const id = 'transformed' as SampleId;
    const transform = {
      id,
      task: 'transform',
      model: 'mask@1',
      lane: 'mask',
      maxBatchMates: 9,
      topK: 0,
    } as const;
    engine.submit({ ...transform, pixels: picture(), width: 64, height: 64 });
    await vi.waitFor(() => expect(ofType('transformed')).toHaveLength(1), 30_000);
    const [{ result }] = ofType('transformed');
    if (result.kind !== 'mask') throw new Error(`Wanted a mask, got a ${result.kind}.`);
    const grey = Uint8Array.from(picture(), (_, i) => result.values[Math.floor(i / 3)]);
    expect(await draw(request({ controls: [use({ name: 'depth', pixels: grey })] }))).toEqual([first]);
  },
);

test(
  'A sample that is canceled while its control picture is made ends, and one that waits for the same picture is drawn',
  LONG,
  async () => {
    const controls = [use({ preprocess: 'mask@1' })];
    const [canceled, waiting] = [request({ controls }), request({ controls })];
    const { engine, draw, ofType } = shared;
    engine.submit(canceled);
    const drawing = draw(waiting);
    engine.cancel(canceled.id);
    await drawing;
    expect(ofType('canceled')).toEqual([{ type: 'canceled', sample: canceled.id }]);
    expect(ofType('finished').map(({ sample }) => sample)).toEqual([waiting.id]);
  },
);

const HIRES = {
  lane: 'sd15@1.128x128',
  width: 128,
  height: 128,
  steps: 8,
  strength: 0.5,
  upscaler: 'latent',
};

test(
  'Both passes of a picture are guided, also beside plain ones, and it continues from each checkpoint the same',
  LONG,
  async () => {
    const controls = [use({ scale: 0.8, start: 0.2, preprocess: 'mask@1' })];
    const guided = (fields: Partial<DiffusionSample> = {}) => request({ controls, hires: HIRES, ...fields });
    const { draw, ofType } = shared;
    const first = guided();
    const [pixels, plain] = await draw(first, request({ hires: HIRES }));
    expect(pixels).not.toEqual(plain);
    const checkpoints = ofType('checkpoints').flatMap(({ samples }) =>
      samples.filter(({ id }) => id === first.id),
    );
    const steps = checkpoints.map(({ step }) => step);
    // Of both passes.
    expect([steps[0] < 4, (steps.at(-1) ?? 0) > 4]).toEqual([true, true]);
    const other = await openAnother();
    for (const { bytes } of checkpoints)
      expect(await other.draw(guided({ checkpoint: bytes }))).toEqual([pixels]);
    expect(other.ofType('resumed').map(({ step }) => step)).toEqual(steps);
    await other.draw(
      guided({ controls: [use({ ...controls[0], pixels: picture(5) })], checkpoint: checkpoints[0].bytes }),
    );
    expect(other.ofType('checkpoint-ignored')).toHaveLength(1);
  },
);

test('A step whose ControlNet runs out of memory is made in halves, and draws the same', LONG, async () => {
  const samples = () => [5, 7, 9].map((seed) => request({ seed, controls: [use()] }));
  const whole = await shared.draw(...samples());
  const { draw, ofType } = await openAnother(2);
  expect(await draw(...samples())).toEqual(whole);
  expect(ofType('row-cap').at(-1)?.rows).toBe(2);
});
