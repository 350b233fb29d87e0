import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeTinyDiffusion } from '@lehr/demo-models';
import { decode, encode } from '@lehr/onnx-model';
import { type SamplerName, systemClock } from '@lehr/shared';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { correlation, shrinkPixels } from '../../../../test/support/correlation.ts';
import { type DiffusionModel, openDiffusionModel } from './diffusion/folder/diffusion-folder.ts';
import { Lane } from './diffusion/lane/lane.ts';
import { LaneSample } from './diffusion/lane/lane-sample.ts';
import { Engine } from './engine.ts';
import { RowCap } from './lanes/row-cap.ts';
import type { DiffusionSample, FromEngine, OpenedModel, SampleId } from './protocol/messages.ts';
import { onnxRuntime } from './runtime/onnx.ts';

const MODEL = 'tiny@1';
const SAMPLERS: SamplerName[] = ['ddim', 'euler', 'euler_a', 'dpmpp_2m', 'pndm'];

let folder: string;
let model: DiffusionModel;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lehr-engine-'));
  await writeTinyDiffusion(folder, { seed: 5, timestepType: 'float32' });
  model = await openDiffusionModel(folder, onnxRuntime, { providers: ['cpu'] });
});
afterAll(async () => {
  await model.close();
  await rm(folder, { recursive: true, force: true });
});

let made = 0;
const request = (fields: Partial<DiffusionSample> = {}): DiffusionSample => ({
  id: `sample-${++made}` as SampleId,
  task: 'diffusion',
  model: MODEL,
  lane: 'diffusion.tiny@1.64x64',
  prompt: 'a red circle',
  negativePrompt: 'blurry',
  width: 64,
  height: 64,
  steps: 4,
  guidance: 7.5,
  seed: 1,
  sampler: 'ddim',
  maxBatchMates: 99,
  ...fields,
});

/** 24 samples of one size: 4 to 30 steps, five samplers, four guidance scales. */
const mix = (): DiffusionSample[] =>
  Array.from({ length: 24 }, (_, i) =>
    request({
      prompt: `picture ${i}`,
      steps: 4 + ((i * 7) % 27),
      sampler: SAMPLERS[i % SAMPLERS.length],
      guidance: [1, 3, 7.5, 12][i % 4],
      seed: 100 + i,
    }),
  );

interface RunningEngine {
  readonly engine: Engine;
  readonly opened: OpenedModel;
  readonly posted: FromEngine[];
  ofType<Type extends FromEngine['type']>(type: Type): Extract<FromEngine, { type: Type }>[];
  ended(count: number): Promise<void>;
}

async function engineOf(
  rowCap: number | 'auto' = 16,
  onPost: (message: FromEngine) => void = () => {},
  from = folder,
): Promise<RunningEngine> {
  const posted: FromEngine[] = [];
  const ofType = <Type extends FromEngine['type']>(type: Type) =>
    posted.filter((message): message is Extract<FromEngine, { type: Type }> => message.type === type);
  const engine = new Engine({
    runtime: onnxRuntime,
    settings: { providers: ['cpu'], rowCap },
    clock: systemClock,
    post: (message) => {
      posted.push(message);
      onPost(message);
    },
  });
  const opened = await engine.open({
    ref: MODEL,
    task: 'diffusion',
    folder: from,
    warmUp: { width: 64, height: 64 },
  });
  const running = engine.run();
  onTestFinished(async () => {
    engine.close();
    await running;
  });
  const ended = (count: number): Promise<void> =>
    vi.waitFor(
      () =>
        expect(ofType('finished').length + ofType('failed').length + ofType('canceled').length).toBe(count),
      30_000,
    );
  return { engine, opened, posted, ofType, ended };
}

/** As an exporter does that was not asked for a dynamic height and width. */
function fixLatentSize(path: string, height: number, width: number): void {
  const model = decode('ModelProto', readFileSync(path));
  const dims = model.graph?.input?.[0].type?.tensorType?.shape?.dim ?? [];
  dims.splice(2, 2, { dimValue: height }, { dimValue: width });
  writeFileSync(path, encode('ModelProto', model));
}

/** Runs samples through one lane on the real UNet and returns their final latents by seed. */
async function latentsOf(samples: readonly DiffusionSample[]): Promise<Map<number, Float32Array>> {
  const latents = new Map<number, Float32Array>();
  const lane = new Lane({
    name: 'lane',
    unet: model.unet,
    size: { width: 8, height: 8 },
    cap: new RowCap({ ceiling: 16, fixed: true }),
    ladder: [],
    clock: systemClock,
    post: () => {},
    onDenoised: (sample) => latents.set(sample.request.seed, sample.denoising.latent),
    isDecodeCongested: () => false,
  });
  for (const request of samples) {
    const sample = new LaneSample(request, model.schedulerConfig, [4, 8, 8], 0);
    sample.prompt.setEmbeddings(await model.textEncoder.encode(sample.prompt.texts));
    lane.submit(sample);
  }
  while (lane.hasWork) await lane.takeTurn();
  return latents;
}

test('A sample that shared every step with other samples ends at the same latent as alone', async () => {
  const samples = mix();
  const shared = await latentsOf(samples);
  let worst = 0;
  for (const sample of samples) {
    const alone = (await latentsOf([sample])).get(sample.seed) as Float32Array;
    const together = shared.get(sample.seed) as Float32Array;
    for (let i = 0; i < alone.length; i++) worst = Math.max(worst, Math.abs(alone[i] - together[i]));
  }
  expect(worst).toBeLessThanOrEqual(1e-5);
});

test('Calls for 24 samples have six rows or more on average, and each picture is the same as alone', async () => {
  const { engine, ofType, ended } = await engineOf();
  const samples = mix();
  for (const sample of samples) engine.submit(sample);
  await ended(24);
  const steps = ofType('stepped');
  expect(steps.reduce((sum, step) => sum + step.rows, 0) / steps.length).toBeGreaterThanOrEqual(6);

  const alone = await engineOf();
  for (const [i, sample] of samples.entries()) {
    alone.engine.submit(sample);
    await alone.ended(i + 1);
  }
  const pixelsOf = (messages: Extract<FromEngine, { type: 'finished' }>[]) =>
    new Map(messages.map(({ sample, pixels }) => [sample, Buffer.from(pixels).toString('base64')]));
  expect(pixelsOf(ofType('finished'))).toEqual(pixelsOf(alone.ofType('finished')));
});

test('A sample that arrives while a long batch runs starts with the next step of that batch', async () => {
  const late = request({ steps: 4, seed: 77 });
  let before = 0;
  const { engine, posted, ofType, ended } = await engineOf(16, ({ type }) => {
    if (type !== 'stepped' || ofType('stepped').length !== 4) return;
    before = posted.length;
    engine.submit(late);
  });
  for (let seed = 0; seed < 3; seed++) engine.submit(request({ steps: 40, seed }));
  await ended(4);
  const steps = posted.slice(before).filter((message) => message.type === 'stepped');
  // The step that is running may end without it, but the next one must have it.
  const first = steps.findIndex(({ samples }) => samples.some(({ id }) => id === late.id));
  expect(first).toBeLessThanOrEqual(1);
  expect(ofType('finished')[0].sample).toBe(late.id);
});

test('A cancel takes effect within one step, for running and for waiting samples', async () => {
  const [running, never] = [request({ steps: 200 }), request({ steps: 200 })];
  let after = 0;
  // Triggered by a message of the engine, because polling could miss all steps; runs between two steps, as real messages do.
  const { engine, posted, ofType, ended } = await engineOf(16, ({ type }) => {
    if (type !== 'stepped' || ofType('stepped').length !== 3) return;
    setImmediate(() => {
      engine.submit(never);
      engine.cancel(never.id);
      engine.cancel(running.id);
      after = posted.length;
    });
  });
  engine.submit(running);
  await ended(2);
  engine.cancel(running.id);
  expect(
    ofType('canceled')
      .map(({ sample }) => sample)
      .sort(),
  ).toEqual([running.id, never.id].sort());
  const steps = posted.slice(after).filter((message) => message.type === 'stepped');
  expect(steps.length).toBeLessThanOrEqual(1);
});

test('Samples of different sizes run at the same time, each size in its own lane', async () => {
  const { engine, ofType, ended } = await engineOf();
  engine.submit(request({ steps: 20 }));
  engine.submit(request({ steps: 20, width: 128, lane: 'diffusion.tiny@1.128x64' }));
  await ended(2);
  const lanes = ofType('stepped').map(({ lane }) => lane);
  expect(lanes.slice(0, 10)).toContain('diffusion.tiny@1.128x64');
  expect(lanes.slice(0, 10)).toContain('diffusion.tiny@1.64x64');
  expect(ofType('finished').map(({ width, pixels }) => pixels.length / (64 * 3 * width))).toEqual([1, 1]);
});

test('An engine that served many groups once remembers a bounded number of their lanes, and finishes all samples', async () => {
  const { engine, ofType, ended } = await engineOf();
  for (let i = 0; i < 150; i++) {
    engine.submit(request({ steps: 2, sampler: 'euler', guidance: 1, lane: `diffusion.tiny@1.64x64~${i}` }));
  }
  await ended(150);
  expect(ofType('finished')).toHaveLength(150);
  engine.submit(request({ steps: 2, lane: 'diffusion.tiny@1.64x64~last' }));
  await ended(151);
  expect(engine.lanes).toBeLessThanOrEqual(64);
});

test('A sample with a step count that its sampler cannot make fails with the reason', async () => {
  const { engine, ofType, ended } = await engineOf();
  engine.submit(request({ steps: 60, sampler: 'lcm' }));
  engine.submit(request());
  await ended(2);
  expect(ofType('failed')).toMatchObject([
    {
      failure: {
        code: 'invalid-input',
        message: expect.stringContaining('50'),
        problems: [{ pointer: '/input/steps', detail: expect.stringContaining('50') }],
      },
    },
  ]);
  expect(ofType('finished')).toHaveLength(1);
});

test('A model whose graphs were exported for one picture size warms up at it, and refuses other sizes with the reason', async () => {
  const fixed = await mkdtemp(join(tmpdir(), 'lehr-fixed-'));
  onTestFinished(() => rm(fixed, { recursive: true, force: true }));
  await writeTinyDiffusion(fixed, { seed: 5 });
  fixLatentSize(join(fixed, 'unet/model.onnx'), 6, 4);
  const { engine, ofType, ended } = await engineOf(16, () => {}, fixed);
  engine.submit(request({ lane: 'fits', width: 32, height: 48 }));
  const other = request({ lane: 'other', width: 64, height: 48 });
  engine.submit(other);
  await ended(2);
  expect(ofType('finished')).toHaveLength(1);
  expect(ofType('failed')).toMatchObject([
    {
      sample: other.id,
      failure: {
        code: 'invalid-input',
        message: expect.stringMatching(
          /^\/input\/width must be 32, .* exported for 32x48 alone; it is 64\.$/,
        ),
        problems: [{ pointer: '/input/width' }],
      },
    },
  ]);
});

test('Opening a model reports where every graph runs and the duration of a step by its rows', async () => {
  const { opened } = await engineOf('auto');
  expect(opened.batching).toBe('step');
  expect(opened.graphs.map(({ graph, provider }) => `${graph} on ${provider}`)).toEqual([
    'text_encoder on cpu',
    'unet on cpu',
    'vae_decoder on cpu',
  ]);
  expect(opened.stepMs.length).toBeGreaterThanOrEqual(2);
  expect(opened.rowCap).toBeGreaterThanOrEqual(1);
});

test('A finished picture says which of its prompts the model did not read whole, and the model how much it reads', async () => {
  const { engine, opened, ofType, ended } = await engineOf();
  expect(opened.maxPromptTokens).toBe(77);
  const long = 'cat '.repeat(100);
  const cut = { read: 77, tokens: 102 };
  const samples = [
    request({ prompt: long, negativePrompt: 'dog' }),
    request({ prompt: 'dog', negativePrompt: long, guidance: 3 }),
    request({ prompt: 'dog', negativePrompt: long, guidance: 1 }),
    request({ prompt: 'dog' }),
  ];
  for (const sample of samples) engine.submit(sample);
  await ended(4);
  const cuts = new Map(ofType('finished').map((message) => [message.sample, message.cuts]));
  // Without guidance the negative prompt is not read at all.
  expect(samples.map(({ id }) => cuts.get(id))).toEqual([{ prompt: cut }, { negativePrompt: cut }, {}, {}]);
});

test('The samples that share the steps of a lane are posted as running only when they change', async () => {
  const [long, late] = [request({ steps: 12 }), request({ steps: 3 })];
  const { engine, posted, ofType, ended } = await engineOf(16, ({ type }) => {
    if (type === 'stepped' && ofType('stepped').length === 4) engine.submit(late);
  });
  engine.submit(long);
  await ended(2);
  const running = ofType('running').map(({ samples }) => samples);
  expect(running).toEqual([[long.id], [late.id], [late.id, long.id], [late.id], [long.id]]);
  // What the worker blames when the engine dies is always what the engine works on.
  let last: readonly SampleId[] = [];
  for (const message of posted) {
    if (message.type === 'running') last = message.samples;
    if (message.type === 'stepped') expect(last).toEqual(message.samples.map(({ id }) => id));
    if (message.type === 'finished') expect(last).toEqual([message.sample]);
  }
});

test('A preview late in a run resembles the final picture', async () => {
  // One preview of every step but the first.
  const { engine, posted, ofType, ended } = await engineOf(16, (message) => {
    if (message.type === 'stepped') for (const { id } of message.samples) engine.preview(id);
  });
  const sample = request({ steps: 12, sampler: 'euler', guidance: 3 });
  engine.submit(sample);
  await ended(1);
  const late = ofType('preview').filter(({ step }) => step >= 8);
  expect(late.map(({ step }) => step)).toEqual([8, 9, 10, 11, 12]);
  const picture = { width: 64, height: 64 };
  const wanted = shrinkPixels(ofType('finished')[0].pixels, picture, 8);
  for (const preview of late) {
    expect(preview).toMatchObject({ sample: sample.id, width: 8, height: 8 });
    expect(correlation(preview.pixels, wanted)).toBeGreaterThan(0.8);
  }
  const end = posted.findIndex(({ type }) => type === 'finished');
  expect(posted.slice(end).filter(({ type }) => type === 'preview')).toEqual([]);
});

test('Bulk samples pause while others have work, in whatever lane, and can be canceled meanwhile; then they continue at their next step', async () => {
  const bulk = request({ priority: 'bulk', steps: 12 });
  const canceled = request({ priority: 'bulk', steps: 12 });
  const others = [request({ steps: 6 }), request({ lane: 'diffusion.tiny@1.72x64', width: 72, steps: 6 })];
  const running = await engineOf(16, (message) => {
    if (message.type !== 'stepped') return;
    const [{ id, step }] = message.samples;
    if (id === bulk.id && step === 1) for (const other of others) running.engine.submit(other);
    if (id === others[0].id && step === 2) running.engine.cancel(canceled.id);
  });
  running.engine.submit(bulk);
  running.engine.submit(canceled);
  await running.ended(4);
  const events = running.posted.flatMap((message) => {
    if (message.type === 'stepped') return message.samples.map(({ id, step }) => ({ id, step }));
    return message.type === 'finished' || message.type === 'canceled'
      ? [{ id: message.sample, step: 99 }]
      : [];
  });
  const ofBulk = events.flatMap(({ id }, at) => (id === bulk.id ? [at] : []));
  const ends = others.map((other) => events.findIndex(({ id, step }) => id === other.id && step === 99));
  // The step that the others arrive in is its first.
  expect(ofBulk.filter((at) => at < Math.max(...ends))).toHaveLength(1);
  expect(events[ofBulk[1]]).toEqual({ id: bulk.id, step: 2 });
  expect(events.filter(({ id }) => id === canceled.id).map(({ step }) => step)).toEqual([1, 99]);
});

test('A paused sample that is suspended leaves a checkpoint of its last step', async () => {
  const bulk = request({ priority: 'bulk', steps: 12 });
  const other = request({ steps: 6 });
  const posted: FromEngine[] = [];
  const engine = new Engine({
    runtime: onnxRuntime,
    settings: {
      providers: ['cpu'],
      rowCap: 8,
      checkpoints: { everySteps: 99, everyMs: 1e9, bytesPerS: 1e9 },
    },
    clock: systemClock,
    post: (message) => {
      posted.push(message);
      if (message.type !== 'stepped') return;
      const [{ id, step }] = message.samples;
      if (id === bulk.id && step === 2) engine.submit(other);
      if (id === other.id && step === 2) engine.suspend(bulk.id);
    },
  });
  await engine.open({ ref: MODEL, task: 'diffusion', folder, warmUp: { width: 64, height: 64 } });
  const ended = engine.run();
  engine.submit(bulk);
  await vi.waitFor(() => expect(posted.at(-1)).toMatchObject({ type: 'finished', sample: other.id }), 30_000);
  engine.close();
  await ended;
  expect(posted).toContainEqual({
    type: 'checkpoints',
    samples: [expect.objectContaining({ id: bulk.id, step: 2 })],
  });
  expect(posted).toContainEqual({ type: 'canceled', sample: bulk.id });
});
