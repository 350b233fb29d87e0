import { LehrError, type SamplerName, systemClock } from '@lehr/shared';
import { expect, test } from 'vitest';
import { LatentRgb } from '../../diffusion/latent-rgb.ts';
import { parseSchedulerConfig } from '../../diffusion/scheduler-config.ts';
import type { NoisePredictions, UnetRow } from '../../diffusion/unet.ts';
import type { Batching } from '../../runtime/runtime.ts';
import type { DiffusionSample, FromEngine, SampleId } from '../protocol.ts';
import { RowCap } from '../row-cap.ts';
import { Lane } from './lane.ts';
import { LaneSample } from './lane-sample.ts';

const CONFIG = parseSchedulerConfig(
  JSON.stringify({
    _class_name: 'DDIMScheduler',
    beta_start: 0.00085,
    beta_end: 0.012,
    beta_schedule: 'scaled_linear',
    num_train_timesteps: 1000,
    steps_offset: 1,
    prediction_type: 'epsilon',
    set_alpha_to_one: false,
  }),
);
const LENGTH = 16;
const SIZE = { width: 2, height: 2 };

/** Each row's prediction depends on that row alone, as a real UNet's does. */
class FakeUnet {
  batching: Batching = { mode: 'rows' };
  readonly calls: (readonly UnetRow[])[] = [];
  /** Throws instead of predicting, when it returns an error. */
  failure: (rows: readonly UnetRow[]) => LehrError | undefined = () => undefined;
  badRows: (rows: readonly UnetRow[]) => number[] = () => [];

  async predict(rows: readonly UnetRow[]): Promise<NoisePredictions> {
    this.calls.push(rows);
    const failure = this.failure(rows);
    if (failure) throw failure;
    const predicted = rows.map(({ latent, timestep, promptEmbedding }) =>
      latent.map((value, i) => 0.1 * value + Math.sin(0.01 * timestep + i) * promptEmbedding[0]),
    );
    return { rows: predicted, badRows: this.badRows(rows) };
  }
}

interface Wish {
  steps?: number;
  sampler?: SamplerName;
  guidance?: number;
  seed?: number;
  maxBatchMates?: number;
}

let made = 0;
function sampleOf({
  steps = 4,
  sampler = 'ddim',
  guidance = 7.5,
  seed = 1,
  maxBatchMates = 99,
}: Wish = {}): LaneSample {
  const request: DiffusionSample = {
    id: `sample-${++made}` as SampleId,
    task: 'diffusion',
    model: 'tiny@1',
    lane: 'lane',
    prompt: '',
    negativePrompt: '',
    width: 16,
    height: 16,
    steps,
    guidance,
    seed,
    sampler,
    maxBatchMates,
  };
  const sample = new LaneSample(request, CONFIG, LENGTH, systemClock.monotonic());
  sample.setEmbeddings([Float32Array.of(0.5), Float32Array.of(0.1)].slice(0, sample.prompts.length));
  return sample;
}

function laneOf(rowCap = 64) {
  const unet = new FakeUnet();
  const posted: FromEngine[] = [];
  const retired: LaneSample[] = [];
  const cap = new RowCap({ ceiling: rowCap, fixed: true });
  const lane = new Lane({
    name: 'lane',
    unet,
    size: SIZE,
    latentRgb: new LatentRgb(
      4,
      [1, 2, 3].map((weight) => Float64Array.of(weight, 0, 0, 0, 100)),
    ),
    cap,
    ladder: [],
    clock: systemClock,
    post: (message) => posted.push(message),
    onDenoised: (sample) => retired.push(sample),
    isDecodeCongested: () => false,
  });
  const runDry = async (): Promise<void> => {
    while (lane.hasWork) await lane.takeTurn();
  };
  const ofType = <Type extends FromEngine['type']>(type: Type) =>
    posted.filter((message): message is Extract<FromEngine, { type: Type }> => message.type === type);
  return { lane, unet, posted, retired, runDry, ofType, cap };
}

/** The same wish drawn with nobody else in the lane. */
async function alone(wish: Wish): Promise<Float32Array> {
  const { lane, retired, runDry } = laneOf();
  lane.submit(sampleOf(wish));
  await runDry();
  return retired[0].latent;
}

test('samples of different steps, samplers, guidance and seeds share calls, and each draws what it draws alone', async () => {
  const samplers: SamplerName[] = ['ddim', 'euler', 'euler_a', 'dpmpp_2m', 'pndm'];
  const wishes = Array.from({ length: 24 }, (_, i) => ({
    steps: 4 + ((i * 7) % 27),
    sampler: samplers[i % samplers.length],
    guidance: [1, 3, 7.5, 12][i % 4],
    seed: 1000 + i,
  }));
  const { lane, unet, retired, runDry } = laneOf();
  for (const wish of wishes) lane.submit(sampleOf(wish));
  await runDry();
  expect(retired).toHaveLength(24);
  const rowsRun = unet.calls.reduce((sum, rows) => sum + rows.length, 0);
  expect(rowsRun / unet.calls.length).toBeGreaterThan(6);
  for (const { request, latent } of retired) {
    const { steps, sampler, guidance, seed } = request;
    expect(latent).toEqual(await alone({ steps, sampler, guidance, seed }));
  }
});

test('a newcomer makes its first step together with the next step of those who run', async () => {
  const { lane, unet } = laneOf();
  lane.submit(sampleOf({ steps: 30 }));
  await lane.takeTurn();
  lane.submit(sampleOf({ steps: 4, guidance: 1 }));
  await lane.takeTurn();
  expect(unet.calls.map((rows) => rows.length)).toEqual([2, 3]);
});

test('a sample that is done leaves while the others go on, and is announced before its last step', async () => {
  const { lane, retired, runDry, posted } = laneOf();
  const [short, long] = [sampleOf({ steps: 4 }), sampleOf({ steps: 9 })];
  lane.submit(long);
  lane.submit(short);
  for (let turn = 0; turn < 4; turn++) await lane.takeTurn();
  expect(retired).toEqual([short]);
  const leaving = posted.findIndex((message) => message.type === 'last-step');
  const thirdStep = posted.findIndex(
    (message) => message.type === 'stepped' && message.samples[0].step === 3,
  );
  expect(leaving).toBeGreaterThan(thirdStep);
  await runDry();
  expect(retired).toEqual([short, long]);
  expect([short.batchSize, long.batchSize]).toEqual([2, (4 * 2 + 5) / 9]);
});

test('a cancelled sample takes no further step, running or waiting', async () => {
  const { lane, unet, retired, runDry } = laneOf(2);
  const [running, waiting] = [sampleOf({ steps: 20 }), sampleOf({ steps: 30 })];
  lane.submit(running);
  await lane.takeTurn();
  lane.submit(waiting);
  expect(lane.cancel(running.request.id)).toBe(true);
  expect(lane.cancel(waiting.request.id)).toBe(true);
  expect(lane.cancel(waiting.request.id)).toBe(false);
  await runDry();
  expect(unet.calls).toHaveLength(1);
  expect(retired).toEqual([]);
});

test('a sample whose prediction is not a number fails alone', async () => {
  const { lane, unet, retired, runDry, ofType } = laneOf();
  const [good, bad, last] = [sampleOf(), sampleOf(), sampleOf({ guidance: 1 })];
  for (const sample of [good, bad, last]) lane.submit(sample);
  // The negative prompt's row of the second sample, in its third step.
  unet.badRows = () => (unet.calls.length === 3 ? [2] : []);
  await runDry();
  expect(ofType('failed')).toEqual([
    {
      type: 'failed',
      sample: bad.request.id,
      failure: { code: 'numeric-error', message: expect.stringContaining('step 3 of 4') },
    },
  ]);
  expect(retired).toEqual(expect.arrayContaining([good, last]));
});

test('when the device runs out of memory the batch is split, everybody finishes, and the cap comes down', async () => {
  const { lane, unet, retired, runDry, cap, ofType } = laneOf();
  const wishes = [1, 2, 3, 4].map((seed) => ({ seed }));
  for (const wish of wishes) lane.submit(sampleOf(wish));
  unet.failure = (rows) => (rows.length > 4 ? new LehrError('out-of-memory', 'no memory') : undefined);
  await runDry();
  expect(retired).toHaveLength(4);
  expect(cap.rows).toBe(4);
  expect(ofType('row-cap').at(-1)).toMatchObject({ rows: 4 });
  expect(ofType('failed')).toEqual([]);
  for (const { request, latent } of retired) expect(latent).toEqual(await alone({ seed: request.seed }));
});

test('a sample that the graph cannot run fails alone, its neighbours finish', async () => {
  const { lane, unet, retired, runDry, ofType } = laneOf();
  const poison = sampleOf({ seed: 666 });
  const first = poison.latent[0];
  for (const sample of [sampleOf(), poison, sampleOf(), sampleOf()]) lane.submit(sample);
  unet.failure = (rows) =>
    rows.some(({ latent }) => latent[0] === first) ? new LehrError('engine-failed', 'bad row') : undefined;
  await runDry();
  expect(ofType('failed').map(({ sample }) => sample)).toEqual([poison.request.id]);
  expect(retired).toHaveLength(3);
});

test('an aligned graph runs only samples of equal steps, sampler and guidance together, and lets nobody in between', async () => {
  const { lane, unet, retired, runDry } = laneOf();
  unet.batching = { mode: 'aligned', reason: 'test' };
  for (const wish of [{}, { steps: 6 }, {}]) lane.submit(sampleOf(wish));
  await lane.takeTurn();
  lane.submit(sampleOf());
  await runDry();
  expect(retired).toHaveLength(4);
  for (const rows of unet.calls) expect(new Set(rows.map(({ timestep }) => timestep)).size).toBe(1);
  expect(unet.calls.slice(0, 4).map((rows) => rows.length)).toEqual([4, 4, 4, 4]);
});

test('a sample under suspicion shares its batch with at most the samples it is allowed', async () => {
  const { lane, unet, retired, runDry } = laneOf();
  for (let i = 0; i < 4; i++) lane.submit(sampleOf({ maxBatchMates: 2, guidance: 1 }));
  await runDry();
  expect(retired).toHaveLength(4);
  expect(Math.max(...unet.calls.map((rows) => rows.length))).toBe(2);
});

test('nobody asks, so no preview is made; one that is asked for comes after the next step, once', async () => {
  const { lane, runDry, posted, ofType } = laneOf();
  const [watched, other] = [sampleOf({ steps: 6 }), sampleOf({ steps: 6 })];
  lane.submit(watched);
  lane.submit(other);
  await lane.takeTurn();
  expect(lane.preview(watched.request.id)).toBe(true);
  expect(lane.preview('nobody' as SampleId)).toBe(false);
  await lane.takeTurn();
  expect(posted.at(-1)).toEqual({
    type: 'preview',
    sample: watched.request.id,
    step: 2,
    pixels: expect.any(Uint8Array),
    width: 2,
    height: 2,
  });
  await runDry();
  expect(ofType('preview')).toHaveLength(1);
});

test('a preview shows the picture a step foretells and changes nothing about it', async () => {
  const { lane, runDry, ofType, retired } = laneOf();
  const sample = sampleOf({ steps: 5, seed: 3 });
  lane.submit(sample);
  for (let turn = 0; turn < 5; turn++) {
    lane.preview(sample.request.id);
    await lane.takeTurn();
  }
  await runDry();
  expect(ofType('preview').map(({ step }) => step)).toEqual([1, 2, 3, 4, 5]);
  expect(retired[0].latent).toEqual(await alone({ steps: 5, seed: 3 }));
  // The last step of ddim ends where it predictedClean: red is 100 plus the first channel.
  const reds =
    ofType('preview')
      .at(-1)
      ?.pixels.filter((_, i) => i % 3 === 0) ?? [];
  for (const [i, red] of reds.entries()) expect(Math.abs(red - 100 - retired[0].latent[i])).toBeLessThan(1.5);
});

test('a sample that waits is shown after its first step, one that is cancelled never', async () => {
  const { lane, runDry, ofType } = laneOf(2);
  const [running, waiting] = [sampleOf({ steps: 3 }), sampleOf({ steps: 3 })];
  lane.submit(running);
  await lane.takeTurn();
  lane.submit(waiting);
  for (const { request } of [running, waiting]) lane.preview(request.id);
  lane.cancel(running.request.id);
  await runDry();
  expect(ofType('preview').map(({ sample, step }) => [sample, step])).toEqual([[waiting.request.id, 1]]);
});
