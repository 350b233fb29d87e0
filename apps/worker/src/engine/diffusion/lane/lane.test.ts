import { type Clock, LehrError, type SamplerName, systemClock } from '@lehr/shared';
import { expect, test } from 'vitest';
import { RowCap } from '../../lanes/row-cap.ts';
import type { DiffusionSample, FromEngine, SampleId } from '../../protocol/messages.ts';
import type { Batching } from '../../runtime/runtime.ts';
import { floatTensor } from '../../runtime/tensor.ts';
import { LatentRgb } from '../latent-rgb.ts';
import { NoisePredictions } from '../model-output.ts';
import { SharedDraw } from '../normal-stream.ts';
import { parseSchedulerConfig } from '../scheduler-config.ts';
import type { UnetRow } from '../unet.ts';
import { Lane, type LaneOptions } from './lane.ts';
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

/** The prediction of a row depends on that row alone, as in a real UNet. */
class FakeUnet {
  batching: Batching = { mode: 'rows' };
  readonly calls: (readonly UnetRow[])[] = [];
  /** When it returns an error, `predict` throws it. */
  failure: (rows: readonly UnetRow[]) => LehrError | undefined = () => undefined;
  badRows: (rows: readonly UnetRow[]) => number[] = () => [];
  runMs = 0;
  controlMs = 0;

  async predict(rows: readonly UnetRow[]): Promise<NoisePredictions> {
    this.calls.push(rows);
    const failure = this.failure(rows);
    if (failure) throw failure;
    const bad = this.badRows(rows);
    const predicted = rows.flatMap(({ latent, timestep, promptEmbedding }, row) =>
      [...latent].map((value, i) =>
        bad.includes(row) ? Number.NaN : 0.1 * value + Math.sin(0.01 * timestep + i) * promptEmbedding[0],
      ),
    );
    const output = floatTensor('float32', Float32Array.from(predicted), [rows.length, LENGTH]);
    return new NoisePredictions(output, rows.length, new Float32Array(LENGTH), this.runMs, this.controlMs);
  }
}

interface SampleFields {
  steps?: number;
  sampler?: SamplerName;
  guidance?: number;
  seed?: number;
  maxBatchMates?: number;
  controls?: DiffusionSample['controls'];
}

let made = 0;
function sampleOf({
  steps = 4,
  sampler = 'ddim',
  guidance = 7.5,
  seed = 1,
  maxBatchMates = 99,
  controls = [],
}: SampleFields = {}): LaneSample {
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
    controls,
  };
  const sample = new LaneSample(request, CONFIG, [4, 2, 2], systemClock.monotonic());
  const embeddings = [0.5, 0.1].map((value) => ({ hidden: Float32Array.of(value), pooled: undefined }));
  sample.prompt.setEmbeddings(embeddings.slice(0, sample.prompt.texts.length));
  return sample;
}

function laneOf(rowCap = 64, noise?: LaneOptions['noise'], clock: Clock = systemClock) {
  const unet = new FakeUnet();
  const posted: FromEngine[] = [];
  const denoised: LaneSample[] = [];
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
    noise,
    ladder: [],
    clock,
    post: (message) => posted.push(message),
    onDenoised: (sample) => denoised.push(sample),
    isDecodeCongested: () => false,
  });
  const runDry = async (): Promise<void> => {
    while (lane.hasWork) await lane.takeTurn();
  };
  const ofType = <Type extends FromEngine['type']>(type: Type) =>
    posted.filter((message): message is Extract<FromEngine, { type: Type }> => message.type === type);
  return { lane, unet, posted, denoised, runDry, ofType, cap };
}

/** The final latent of a sample that is alone in the lane. */
async function alone(fields: SampleFields): Promise<Float32Array> {
  const { lane, denoised, runDry } = laneOf();
  lane.submit(sampleOf(fields));
  await runDry();
  return denoised[0].denoising.latent;
}

test('Samples whose noise another thread draws get the same latents as without it', async () => {
  const samplers: SamplerName[] = ['euler_a', 'dpmpp_2m_sde_karras', 'lcm', 'ddim'];
  let drawn = 0;
  const drawer = {
    begin(draws: readonly SharedArrayBuffer[]) {
      drawn += draws.length;
      for (const buffer of draws) new SharedDraw(buffer).perform();
    },
  };
  const { lane, denoised, runDry } = laneOf(4, drawer);
  for (const [seed, sampler] of samplers.entries()) lane.submit(sampleOf({ sampler, seed, steps: 6 }));
  await runDry();
  for (const { request, denoising } of denoised) {
    expect([...denoising.latent]).toEqual([
      ...(await alone({ sampler: request.sampler, seed: request.seed, steps: 6 })),
    ]);
  }
  // Each of the six steps, but the last one of lcm, which adds no noise.
  expect(drawn).toBe(6 + 6 + 5);
});

test('Samples with different steps, samplers, guidance and seeds share calls, and each gets the same latent as alone', async () => {
  const samplers: SamplerName[] = ['ddim', 'euler', 'euler_a', 'dpmpp_2m', 'pndm'];
  const mix = Array.from({ length: 24 }, (_, i) => ({
    steps: 4 + ((i * 7) % 27),
    sampler: samplers[i % samplers.length],
    guidance: [1, 3, 7.5, 12][i % 4],
    seed: 1000 + i,
  }));
  const { lane, unet, denoised, runDry } = laneOf();
  for (const fields of mix) lane.submit(sampleOf(fields));
  await runDry();
  expect(denoised).toHaveLength(24);
  const rowsRun = unet.calls.reduce((sum, rows) => sum + rows.length, 0);
  expect(rowsRun / unet.calls.length).toBeGreaterThan(6);
  for (const { request, denoising } of denoised) {
    const { steps, sampler, guidance, seed } = request;
    expect(denoising.latent).toEqual(await alone({ steps, sampler, guidance, seed }));
  }
});

test('A new sample makes its first step together with the next step of the running ones', async () => {
  const { lane, unet } = laneOf();
  lane.submit(sampleOf({ steps: 30 }));
  await lane.takeTurn();
  lane.submit(sampleOf({ steps: 4, guidance: 1 }));
  await lane.takeTurn();
  expect(unet.calls.map((rows) => rows.length)).toEqual([2, 3]);
});

test('A long sample pauses for short ones when not all fit into a step, and ends at the same latent as alone', async () => {
  const { lane, unet, denoised, runDry, ofType } = laneOf(4);
  const long = [
    { steps: 30, sampler: 'dpmpp_2m', seed: 7 },
    { steps: 25, sampler: 'euler_a', seed: 8 },
  ] as const;
  for (const fields of long) lane.submit(sampleOf(fields));
  for (let turn = 0; turn < 5; turn++) await lane.takeTurn();
  const short = sampleOf({ steps: 4, seed: 9 });
  lane.submit(short);
  for (let turn = 0; turn < 4; turn++) await lane.takeTurn();
  expect(denoised).toEqual([short]);
  const steps = ofType('stepped')
    .at(-1)
    ?.samples.map(({ steps, step }) => [steps, step]);
  expect(steps).toEqual([
    [4, 4],
    [25, 9],
  ]);
  await runDry();
  expect(Math.max(...unet.calls.map((rows) => rows.length))).toBe(4);
  for (const fields of long) {
    const drawn = denoised.find(({ request }) => request.seed === fields.seed);
    expect(drawn?.denoising.latent).toEqual(await alone(fields));
  }
});

test('A paused sample can be cancelled, and is found', async () => {
  const { lane, denoised, runDry } = laneOf(2);
  const long = sampleOf({ steps: 30 });
  lane.submit(long);
  await lane.takeTurn();
  lane.submit(sampleOf({ steps: 4 }));
  await lane.takeTurn();
  expect(lane.find(long.request.id)?.step).toBe(1);
  expect(lane.cancel(long.request.id)).toBe(true);
  await runDry();
  expect(denoised.map(({ steps }) => steps)).toEqual([4]);
});

test('A finished sample leaves while the others continue, and its last step is announced', async () => {
  const { lane, denoised, runDry, posted } = laneOf();
  const [short, long] = [sampleOf({ steps: 4 }), sampleOf({ steps: 9 })];
  lane.submit(long);
  lane.submit(short);
  for (let turn = 0; turn < 4; turn++) await lane.takeTurn();
  expect(denoised).toEqual([short]);
  const leaving = posted.findIndex((message) => message.type === 'last-step');
  const thirdStep = posted.findIndex(
    (message) => message.type === 'stepped' && message.samples[0].step === 3,
  );
  expect(leaving).toBeGreaterThan(thirdStep);
  await runDry();
  expect(denoised).toEqual([short, long]);
  expect([short.batchSize, long.batchSize]).toEqual([2, (4 * 2 + 5) / 9]);
});

test('A cancelled sample takes no further step, running or waiting', async () => {
  const { lane, unet, denoised, runDry } = laneOf(2);
  const [running, waiting] = [sampleOf({ steps: 20 }), sampleOf({ steps: 30 })];
  lane.submit(running);
  await lane.takeTurn();
  lane.submit(waiting);
  expect(lane.cancel(running.request.id)).toBe(true);
  expect(lane.cancel(waiting.request.id)).toBe(true);
  expect(lane.cancel(waiting.request.id)).toBe(false);
  await runDry();
  expect(unet.calls).toHaveLength(1);
  expect(denoised).toEqual([]);
});

test('A sample whose prediction is not finite fails alone', async () => {
  const { lane, unet, denoised, runDry, ofType } = laneOf();
  const [good, bad, last] = [sampleOf(), sampleOf(), sampleOf({ guidance: 1 })];
  for (const sample of [good, bad, last]) lane.submit(sample);
  // Row 2 is the negative prompt's row of the second sample; call 3 is its third step.
  unet.badRows = () => (unet.calls.length === 3 ? [2] : []);
  await runDry();
  expect(ofType('failed')).toEqual([
    {
      type: 'failed',
      sample: bad.request.id,
      failure: { code: 'numeric-error', message: expect.stringContaining('step 3 of 4') },
    },
  ]);
  expect(denoised).toEqual(expect.arrayContaining([good, last]));
});

test('A step reports the time outside of its graph, and none when it had to be split', async () => {
  const { lane, unet, ofType } = laneOf();
  for (const seed of [1, 2]) lane.submit(sampleOf({ seed }));
  await lane.takeTurn();
  unet.runMs = 1e9;
  await lane.takeTurn();
  unet.failure = (rows) => (rows.length > 2 ? new LehrError('out-of-memory', 'full') : undefined);
  await lane.takeTurn();
  const [first, second, split] = ofType('stepped');
  expect([first.hostMs, second.hostMs, split.hostMs]).toEqual([first.ms, 0, undefined]);
});

test('When the device runs out of memory the batch is split, all samples finish, and the row cap is lowered', async () => {
  const { lane, unet, denoised, runDry, cap, ofType } = laneOf();
  const mix = [1, 2, 3, 4].map((seed) => ({ seed }));
  for (const fields of mix) lane.submit(sampleOf(fields));
  unet.failure = (rows) => (rows.length > 4 ? new LehrError('out-of-memory', 'no memory') : undefined);
  await runDry();
  expect(denoised).toHaveLength(4);
  expect(cap.rows).toBe(4);
  expect(ofType('row-cap').at(-1)).toMatchObject({ rows: 4 });
  expect(ofType('failed')).toEqual([]);
  for (const { request, denoising } of denoised) {
    expect(denoising.latent).toEqual(await alone({ seed: request.seed }));
  }
});

test('A step that lowers the row cap reports the cap that it began with', async () => {
  const { lane, unet, ofType } = laneOf(8);
  for (const seed of [1, 2, 3, 4]) lane.submit(sampleOf({ seed }));
  unet.failure = (rows) => (rows.length > 4 ? new LehrError('out-of-memory', 'no memory') : undefined);
  await lane.takeTurn();
  expect(ofType('stepped')[0]).toMatchObject({ rows: 8, cap: 8 });
  expect(ofType('row-cap').at(-1)).toMatchObject({ rows: 4 });
});

test('A sample that the graph cannot run fails alone, and the others finish', async () => {
  const { lane, unet, denoised, runDry, ofType } = laneOf();
  const poison = sampleOf({ seed: 666 });
  const first = poison.denoising.latent[0];
  for (const sample of [sampleOf(), poison, sampleOf(), sampleOf()]) lane.submit(sample);
  unet.failure = (rows) =>
    rows.some(({ latent }) => latent[0] === first) ? new LehrError('engine-failed', 'bad row') : undefined;
  await runDry();
  expect(ofType('failed').map(({ sample }) => sample)).toEqual([poison.request.id]);
  expect(denoised).toHaveLength(3);
});

test('An aligned graph batches only samples with equal steps, sampler and guidance, and none joins a running batch', async () => {
  const { lane, unet, denoised, runDry } = laneOf();
  unet.batching = { mode: 'aligned', reason: 'test' };
  for (const fields of [{}, { steps: 6 }, {}]) lane.submit(sampleOf(fields));
  await lane.takeTurn();
  lane.submit(sampleOf());
  await runDry();
  expect(denoised).toHaveLength(4);
  for (const rows of unet.calls) expect(new Set(rows.map(({ timestep }) => timestep)).size).toBe(1);
  expect(unet.calls.slice(0, 4).map((rows) => rows.length)).toEqual([4, 4, 4, 4]);
});

test('A sample with maxBatchMates has at most that many samples in its batch, itself included', async () => {
  const { lane, unet, denoised, runDry } = laneOf();
  for (let i = 0; i < 4; i++) lane.submit(sampleOf({ maxBatchMates: 2, guidance: 1 }));
  await runDry();
  expect(denoised).toHaveLength(4);
  expect(Math.max(...unet.calls.map((rows) => rows.length))).toBe(2);
});

test('A preview is made only on request, once, after the next step', async () => {
  const { lane, runDry, posted, ofType } = laneOf();
  const [watched, other] = [sampleOf({ steps: 6 }), sampleOf({ steps: 6 })];
  lane.submit(watched);
  lane.submit(other);
  await lane.takeTurn();
  expect(lane.preview(watched.request.id)).toBe(true);
  expect(lane.preview('unknown' as SampleId)).toBe(false);
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

test('A preview shows the clean latent that a step predicts and does not change the result', async () => {
  const { lane, runDry, ofType, denoised } = laneOf();
  const sample = sampleOf({ steps: 5, seed: 3 });
  lane.submit(sample);
  for (let turn = 0; turn < 5; turn++) {
    lane.preview(sample.request.id);
    await lane.takeTurn();
  }
  await runDry();
  expect(ofType('preview').map(({ step }) => step)).toEqual([1, 2, 3, 4, 5]);
  expect(denoised[0].denoising.latent).toEqual(await alone({ steps: 5, seed: 3 }));
  // The last step of ddim ends at the predicted clean latent: red is 100 plus the first channel.
  const reds =
    ofType('preview')
      .at(-1)
      ?.pixels.filter((_, i) => i % 3 === 0) ?? [];
  for (const [i, red] of reds.entries())
    expect(Math.abs(red - 100 - denoised[0].denoising.latent[i])).toBeLessThan(1.5);
});

test('A preview of a waiting sample is posted after its first step, and of a cancelled sample never', async () => {
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

test('In an aligned lane a resumed sample does not run beside a sample that is at another step', async () => {
  const earlier = sampleOf({ steps: 6 });
  const first = laneOf();
  first.lane.submit(earlier);
  for (let step = 0; step < 2; step++) await first.lane.takeTurn();
  const resumed = sampleOf({ steps: 6 });
  resumed.denoising.restore(earlier.denoising.checkpoint('a digest'), 'a digest');

  const { lane, unet, denoised, runDry } = laneOf();
  unet.batching = { mode: 'aligned', reason: 'a test' };
  lane.submit(sampleOf({ steps: 6 }));
  lane.submit(resumed);
  await runDry();
  for (const rows of unet.calls) expect(new Set(rows.map(({ timestep }) => timestep)).size).toBe(1);
  expect(denoised).toHaveLength(2);
  expect(denoised[0].denoising.latent).toEqual(denoised[1].denoising.latent);
});

test('The device time of a picture is the share of its rows in its own steps, whatever runs between them', async () => {
  let now = 0;
  const { lane, unet, denoised } = laneOf(64, undefined, { ...systemClock, monotonic: () => now });
  unet.badRows = (rows) => {
    now += 10 * rows.length;
    return [];
  };
  lane.submit(sampleOf({ steps: 3, guidance: 7.5 }));
  lane.submit(sampleOf({ steps: 2, guidance: 1 }));
  while (lane.hasWork) {
    await lane.takeTurn();
    // A step of another lane.
    now += 1000;
  }
  expect(denoised.map(({ deviceMs }) => deviceMs)).toEqual([20, 60]);
});

test('The time of a ControlNet is charged to the pictures that it guides, and is no measure of a step of so many rows', async () => {
  let now = 0;
  const { lane, unet, denoised, cap } = laneOf(64, undefined, { ...systemClock, monotonic: () => now });
  const measured = [...cap.measurements];
  unet.badRows = (rows) => {
    unet.controlMs = rows.some(({ controls }) => controls) ? 100 : 0;
    now += 10 * rows.length + unet.controlMs;
    return [];
  };
  const use = { name: 'edges', pixels: new Uint8Array(16 * 16 * 3), scale: 1, start: 0, end: 0.5 };
  lane.submit(sampleOf({ steps: 2, controls: [use] }));
  lane.submit(sampleOf({ steps: 2 }));
  await lane.takeTurn();
  expect(cap.measurements).toEqual(measured);
  while (lane.hasWork) await lane.takeTurn();
  expect(denoised.map(({ deviceMs }) => deviceMs)).toEqual([140, 40]);
});
