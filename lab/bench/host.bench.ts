/**
 * What Lehr itself computes between two runs of a UNet: samplers, guidance, conversions to and from float16, and the lane's own
 * work, while the device waits. The session returns the same buffer again and again, and blocks the engine's thread for as long as an H100
 * may take for a step, as a run of ONNX Runtime does. The time of a run is not counted.
 */
import { Lane } from '../../apps/worker/src/engine/diffusion/lane/lane.ts';
import { LaneSample } from '../../apps/worker/src/engine/diffusion/lane/lane-sample.ts';
import { NoiseDrawer } from '../../apps/worker/src/engine/diffusion/noise.ts';
import { parseSchedulerConfig } from '../../apps/worker/src/engine/diffusion/scheduler-config.ts';
import { Unet } from '../../apps/worker/src/engine/diffusion/unet.ts';
import { RowCap } from '../../apps/worker/src/engine/lanes/row-cap.ts';
import type { DiffusionSample, SampleId } from '../../apps/worker/src/engine/protocol/messages.ts';
import type { RuntimeSession } from '../../apps/worker/src/engine/runtime/runtime.ts';
import { elementCount, type FloatType, floatTensor } from '../../apps/worker/src/engine/runtime/tensor.ts';
import { type SamplerName, systemClock } from '../../packages/shared/src/index.ts';
import type { Figure, RatioFigure, SampledFigure } from './harness.ts';

/** Of Stable Diffusion 1.5. */
const CHANNELS = 4;
const TOKENS = 77;
const WIDTH = 768;
/** With guidance, so twice as many rows. */
const SAMPLES = 8;
const STEPS = 100;
const RUN_MS = 20;
const WARM_UP_STEPS = 20;

const CONFIG = parseSchedulerConfig(
  JSON.stringify({
    _class_name: 'EulerDiscreteScheduler',
    beta_start: 0.00085,
    beta_end: 0.012,
    beta_schedule: 'scaled_linear',
    num_train_timesteps: 1000,
    prediction_type: 'epsilon',
  }),
);

/** A session that computes nothing, and the time that its runs have taken. */
function idleSession(
  type: FloatType,
  rows: number,
  side: number,
): { session: RuntimeSession; ranMs: () => number } {
  let ranMs = 0;
  const asleep = new Int32Array(new SharedArrayBuffer(4));
  const dims = [rows, CHANNELS, side, side];
  // All rows alike, so that guidance, which is applied in place, changes nothing.
  const values = new Float32Array(elementCount(dims)).map((_, i) => Math.sin(i % (CHANNELS * side * side)));
  const predictions = floatTensor(type, values, dims);
  const session: RuntimeSession = {
    provider: 'simulated',
    refusals: [],
    placement: undefined,
    inputs: [
      { name: 'sample', type, dims: ['batch', CHANNELS, 'height', 'width'] },
      { name: 'timestep', type: 'int64', dims: ['batch'] },
      { name: 'encoder_hidden_states', type, dims: ['batch', 'tokens', WIDTH] },
    ],
    outputs: [{ name: 'out_sample', type, dims: ['batch', CHANNELS, 'height', 'width'] }],
    run: async () => {
      const startedAt = performance.now();
      Atomics.wait(asleep, 0, 0, RUN_MS);
      ranMs += performance.now() - startedAt;
      return { out_sample: predictions };
    },
    close: async () => {},
  };
  return { session, ranMs: () => ranMs };
}

/** A disc in the middle, half of the picture. */
function disc(side: number): Uint8Array {
  const [middle, radius] = [side / 2, side * Math.sqrt(0.5 / Math.PI)];
  const isIn = (i: number): boolean =>
    Math.hypot((i % side) - middle, Math.floor(i / side) - middle) < radius;
  return Uint8Array.from({ length: side * side }, (_, i) => (isIn(i) ? 255 : 0));
}

/** The picture of a masked sample, as the VAE encodes it. */
function pictureOf(side: number) {
  const mean = new Float32Array(CHANNELS * side * side).map((_, i) => Math.sin(i));
  return { picture: { mean, deviation: mean.map(Math.abs), size: { height: side, width: side } } };
}

function sampleOf(seed: number, sampler: SamplerName, side: number, isMasked: boolean): LaneSample {
  const pixels = 8 * side;
  const request: DiffusionSample = {
    id: `sample-${seed}` as SampleId,
    task: 'diffusion',
    model: 'idle@1',
    lane: 'idle',
    prompt: 'a lighthouse',
    negativePrompt: '',
    width: pixels,
    height: pixels,
    steps: STEPS,
    guidance: 7.5,
    seed,
    sampler,
    maxBatchMates: Number.MAX_SAFE_INTEGER,
    ...(isMasked && { image: new Uint8Array(3 * pixels * pixels), mask: disc(pixels), strength: 1 }),
  };
  const sample = new LaneSample(request, CONFIG, [CHANNELS, side, side], 0);
  if (isMasked) sample.denoising.beginAt(pictureOf(side));
  const embedding = () => ({ hidden: new Float32Array(TOKENS * WIDTH).fill(0.1), pooled: undefined });
  sample.prompt.setEmbeddings([embedding(), embedding()]);
  return sample;
}

const drawer = new NoiseDrawer();

/** Ms of each step without the run, per row. */
async function stepTimes(
  type: FloatType,
  sampler: SamplerName,
  side: number,
  isMasked = false,
): Promise<number[]> {
  const rows = 2 * SAMPLES;
  const { session, ranMs } = idleSession(type, rows, side);
  const lane = new Lane({
    name: 'idle',
    unet: new Unet(session, { mode: 'rows' }),
    size: { height: side, width: side },
    cap: new RowCap({ ceiling: rows, fixed: true }),
    ladder: [],
    noise: drawer,
    clock: systemClock,
    post: () => {},
    onDenoised: () => {},
    isDecodeCongested: () => false,
  });
  for (let seed = 0; seed < SAMPLES; seed++) lane.submit(sampleOf(seed, sampler, side, isMasked));
  const taken: number[] = [];
  while (lane.hasWork) {
    const before = performance.now() - ranMs();
    await lane.takeTurn();
    taken.push((performance.now() - ranMs() - before) / rows);
  }
  return taken.slice(WARM_UP_STEPS);
}

const figure = (type: FloatType, sampler: SamplerName, side: number, atMost?: number): SampledFigure => ({
  kind: 'sampled',
  name: `host: a step of one row of ${side}x${side}x${CHANNELS} ${type} with ${sampler}, ${2 * SAMPLES} rows at once`,
  unit: 'ms',
  percentile: 50,
  ...(atMost !== undefined && { target: { atMost } }),
  open: async () => ({ samples: () => stepTimes(type, sampler, side), close: async () => {} }),
});

/** The graph computes the same for both, so that this is all that a mask costs in a step. */
const ofMasks = (side: number): RatioFigure => ({
  kind: 'ratio',
  name: `host: a step of one masked row of ${side}x${side}x${CHANNELS} float16 with euler over one of a plain row`,
  unit: 'ms',
  rounds: 5,
  open: async () => {
    const median = async (isMasked: boolean): Promise<number> => {
      const times = (await stepTimes('float16', 'euler', side, isMasked)).sort((a, b) => a - b);
      return times[Math.floor(times.length / 2)];
    };
    return { ours: () => median(true), baseline: () => median(false), close: async () => {} };
  },
});

export const figures: readonly Figure[] = [
  figure('float32', 'euler', 64, 0.06),
  figure('float16', 'euler', 64, 0.06),
  figure('float16', 'dpmpp_2m', 64, 0.06),
  figure('float16', 'euler_a', 64, 0.06),
  figure('float16', 'euler', 128),
  figure('float16', 'euler_a', 128),
  ofMasks(64),
  ofMasks(128),
];
