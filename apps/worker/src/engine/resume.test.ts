/** Pictures that leave one engine in the middle and continue in another one, on a simulated device. */
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeTinyDiffusion, writeTinyTransform } from '@lehr/demo-models';
import { SAMPLER_NAMES, systemClock } from '@lehr/shared';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { encodeLatent } from './diffusion/latent-file.ts';
import { Engine } from './engine.ts';
import type {
  CheckpointSettings,
  DiffusionSample,
  FromEngine,
  SampleId,
  TransformSample,
} from './protocol/messages.ts';
import { onnxRuntime } from './runtime/onnx.ts';
import type { InferenceRuntime } from './runtime/runtime.ts';
import { createSimulatedRuntime } from './runtime/simulated.ts';

let folder: string;
let upscaler: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lehr-resume-'));
  await writeTinyDiffusion(folder, { seed: 5, timestepType: 'float32', vaeEncoder: true });
  upscaler = await mkdtemp(join(tmpdir(), 'lehr-upscaler-'));
  await writeTinyTransform(upscaler, { result: 'picture', scale: 4 });
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
  await rm(upscaler, { recursive: true, force: true });
});

/** Only the graphs of Stable Diffusion are simulated. */
const runtimeOf = (): InferenceRuntime => {
  const simulated = createSimulatedRuntime({ pause: () => {} });
  return {
    load: (graph, options) =>
      (graph.path.startsWith(upscaler) ? onnxRuntime : simulated).load(graph, options),
  };
};

const SETTINGS: CheckpointSettings = { everySteps: 3, everyMs: 3_600_000, bytesPerS: 1e9 };

let made = 0;
const request = (fields: Partial<DiffusionSample> = {}): DiffusionSample => ({
  id: `sample-${++made}` as SampleId,
  task: 'diffusion',
  model: 'tiny@1',
  lane: 'diffusion.tiny@1.64x64',
  prompt: 'a red circle',
  negativePrompt: 'blurry',
  width: 64,
  height: 64,
  steps: 8,
  guidance: 7.5,
  seed: 1,
  sampler: 'ddim',
  maxBatchMates: 99,
  ...fields,
});

/** In tiles of a quarter of the pictures. */
const UPSCALER = {
  ref: 'up@1',
  task: 'transform',
  get folder() {
    return upscaler;
  },
  result: 'picture',
  scale: 4,
  input: { width: 32, height: 32 },
} as const;

type Of<Type extends FromEngine['type']> = Extract<FromEngine, { type: Type }>;

interface OpenEngine {
  readonly engine: Engine;
  ofType<Type extends FromEngine['type']>(type: Type): Of<Type>[];
  /** Submits samples; resolves with the pixels of each. */
  draw(...samples: readonly DiffusionSample[]): Promise<Uint8Array[]>;
}

async function open(
  checkpoints: Partial<CheckpointSettings> = {},
  {
    from = folder,
    rowCap = 2,
    withUpscaler = false,
    onPost = (_message: FromEngine, _engine: Engine): void => {},
  } = {},
): Promise<OpenEngine> {
  const posted: FromEngine[] = [];
  const ofType = <Type extends FromEngine['type']>(type: Type) =>
    posted.filter((message): message is Of<Type> => message.type === type);
  const engine: Engine = new Engine({
    runtime: runtimeOf(),
    settings: { providers: ['cpu'], rowCap, checkpoints: { ...SETTINGS, ...checkpoints } },
    clock: systemClock,
    post: (message) => {
      posted.push(message);
      onPost(message, engine);
    },
  });
  await engine.open({ ref: 'tiny@1', task: 'diffusion', folder: from, warmUp: { width: 64, height: 64 } });
  if (withUpscaler) await engine.open(UPSCALER);
  const running = engine.run();
  onTestFinished(async () => {
    engine.close();
    await running;
  });
  const pixelsOf = (id: SampleId) => ofType('finished').find(({ sample }) => sample === id)?.pixels;
  return {
    engine,
    ofType,
    draw: async (...samples) => {
      for (const sample of samples) engine.submit(sample);
      await vi.waitFor(() => {
        for (const { id } of samples) expect(pixelsOf(id)).toBeDefined();
      }, 30_000);
      return samples.map(({ id }) => pixelsOf(id) as Uint8Array);
    },
  };
}

const checkpointsOf = ({ ofType }: OpenEngine) => ofType('checkpoints').flatMap(({ samples }) => samples);

test.each(SAMPLER_NAMES)(
  'A picture of %s continues from each checkpoint in another engine, and is the same',
  async (sampler) => {
    const first = await open();
    const [pixels] = await first.draw(request({ sampler, checkpointAtEnd: true }));
    const checkpoints = checkpointsOf(first);
    expect(checkpoints.map(({ step }) => step)).toEqual([3, 6, 8]);

    const second = await open();
    for (const { step, bytes } of checkpoints) {
      const before = second.ofType('stepped').length;
      expect(await second.draw(request({ sampler, checkpoint: bytes }))).toEqual([pixels]);
      const steps = second.ofType('stepped').slice(before);
      // PNDM makes one more call than steps.
      expect(new Set(steps.map(({ samples }) => samples[0].step))).toEqual(
        new Set([4, 5, 6, 7, 8].filter((each) => each > step)),
      );
    }
    expect(second.ofType('resumed').map(({ step }) => step)).toEqual([3, 6, 8]);
  },
);

test('A picture that is only decoded after it moved says too that its prompt was cut', async () => {
  const prompt = 'cat '.repeat(100);
  const first = await open();
  await first.draw(request({ prompt, checkpointAtEnd: true }));
  const last = checkpointsOf(first).at(-1);
  const second = await open();
  await second.draw(request({ prompt, ...(last && { checkpoint: last.bytes }) }));
  expect(second.ofType('stepped')).toEqual([]);
  const [moved] = second.ofType('finished');
  expect(moved.cuts).toEqual({ prompt: { read: 77, tokens: 102 } });
  expect(moved.cuts).toEqual(first.ofType('finished')[0].cuts);
});

/** Pixels of a picture of 64x64. */
const picture = (factor: number): Uint8Array =>
  Uint8Array.from({ length: 64 * 64 * 3 }, (_, i) => (i * factor) % 256);

test.each(['euler_a', 'ddim', 'pndm', 'dpmpp_2m_sde_karras'] as const)(
  'A picture of %s that begins at another one makes its part of the steps, and continues from a checkpoint the same',
  async (sampler) => {
    const begun = { sampler, image: picture(7), steps: 10, strength: 0.6 };
    const first = await open();
    const [pixels, other] = await first.draw(request(begun), request({ ...begun, image: picture(5) }));
    expect(pixels).not.toEqual(other);
    const last = first.ofType('stepped').at(-1)?.samples[0];
    expect(last).toMatchObject({ step: 6, steps: 6 });
    const [{ step, bytes }] = checkpointsOf(first);
    expect(step).toBe(3);

    const second = await open();
    expect(await second.draw(request({ ...begun, checkpoint: bytes }))).toEqual([pixels]);
    expect(second.ofType('resumed')).toMatchObject([{ step }]);
    // The checkpoint belongs to the picture that it began at.
    const third = await open();
    expect(await third.draw(request({ ...begun, image: picture(5), checkpoint: bytes }))).toEqual([other]);
    expect(third.ofType('checkpoint-ignored')).toHaveLength(1);
  },
);

/** Its left half is drawn again. */
const leftHalf = Uint8Array.from({ length: 64 * 64 }, (_, i) => (i % 64 < 32 ? 255 : 0));

test.each(['euler_a', 'ddim', 'pndm', 'unipc'] as const)(
  'A masked picture of %s continues from a checkpoint the same, and not from that of another mask',
  async (sampler) => {
    const begun = { sampler, image: picture(7), mask: leftHalf, steps: 8, strength: 1 };
    const first = await open();
    const [pixels, unmasked] = await first.draw(
      request(begun),
      request({ ...begun, mask: leftHalf.map(() => 255) }),
    );
    expect(pixels).not.toEqual(unmasked);
    const [{ step, bytes }] = checkpointsOf(first);
    expect(step).toBe(3);
    const second = await open();
    expect(await second.draw(request({ ...begun, checkpoint: bytes }))).toEqual([pixels]);
    expect(second.ofType('resumed')).toMatchObject([{ step }]);
    const other = { ...begun, mask: leftHalf.map(() => 255), checkpoint: bytes };
    expect(await second.draw(request(other))).toEqual([unmasked]);
    expect(second.ofType('checkpoint-ignored')).toHaveLength(1);
  },
);

test('A masked picture that begins at noise in the latent is another one, and continues from a checkpoint the same', async () => {
  const begun = { image: picture(7), mask: leftHalf, steps: 10, strength: 0.6 };
  const first = await open();
  const [original, pixels] = await first.draw(request(begun), request({ ...begun, noiseUnderMask: true }));
  expect(pixels).not.toEqual(original);
  const [, { bytes }] = checkpointsOf(first);
  const second = await open();
  expect(await second.draw(request({ ...begun, noiseUnderMask: true, checkpoint: bytes }))).toEqual([pixels]);
  expect(second.ofType('resumed')).toHaveLength(1);
});

test('A masked picture in a batch with ordinary ones equals the one drawn alone, and so do they', async () => {
  const masked = { image: picture(7), mask: leftHalf, steps: 20, strength: 0.8 };
  // So many steps that it still runs when the pictures of the others are encoded.
  const plain = { seed: 2, steps: 300 };
  const begun = { image: picture(5), steps: 20, strength: 0.7, seed: 3 };
  const apart = await open({}, { rowCap: 8 });
  const alone: Uint8Array[] = [];
  for (const fields of [masked, plain, begun]) alone.push(...(await apart.draw(request(fields))));
  const mixed = await open({}, { rowCap: 8 });
  const together = await mixed.draw(request(masked), request(plain), request(begun));
  expect(together).toEqual(alone);
  const shared = mixed.ofType('stepped').filter(({ samples }) => samples.length > 1);
  expect(shared.some(({ samples }) => samples.some(({ steps }) => steps === 16))).toBe(true);
});

test('A picture drawn from another one in a batch with ordinary ones equals the one drawn alone', async () => {
  const begun = { image: picture(7), steps: 10, strength: 0.5 };
  const [alone] = await (await open({}, { rowCap: 8 })).draw(request(begun));
  const mixed = await open({}, { rowCap: 8 });
  const [together] = await mixed.draw(request(begun), request({ seed: 2 }), request({ seed: 3, steps: 12 }));
  expect(together).toEqual(alone);
  expect(Math.max(...mixed.ofType('stepped').map(({ samples }) => samples.length))).toBe(3);
});

test.each([
  ['euler', 'euler'],
  ['ddim', 'ddim'],
  // Noise has other units with each of these.
  ['euler', 'ddim'],
  ['ddim', 'euler'],
] as const)(
  'A latent of %s that stops early is continued by %s, without new noise',
  async (sampler, next) => {
    const part = { steps: 10, denoisingEnd: 0.6 };
    const { draw, ofType } = await open();
    const [whole, early] = await draw(request({ sampler, steps: 10 }), request({ sampler, ...part }));
    expect(early).not.toEqual(whole);
    const latent = ofType('finished').find((message) => message.latent)?.latent;
    const [continued] = await draw(
      request({ sampler: next, steps: 10, denoisingStart: 0.6, ...(latent && { latent }) }),
    );
    const differences = whole.map((value, i) => Math.abs(value - continued[i]));
    if (sampler === next) expect(continued).toEqual(whole);
    // Both go the same way, in steps of different lengths.
    else expect(differences.reduce((sum, each) => sum + each, 0) / whole.length).toBeLessThan(4);
    const made = ofType('stepped').flatMap(({ samples }) => samples);
    expect(new Set(made.map(({ steps }) => steps))).toEqual(new Set([10, 6, 4]));
  },
);

test('A picture that continues a latent moves to another engine at its checkpoint, and not with another latent', async () => {
  const from = await open();
  await from.draw(
    request({ steps: 20, denoisingEnd: 0.5 }),
    request({ steps: 20, denoisingEnd: 0.5, seed: 2 }),
  );
  const [latent, other] = from.ofType('finished').flatMap((message) => message.latent ?? []);
  const rest = { steps: 20, denoisingStart: 0.5, denoisingEnd: 0.9 };
  const [pixels] = await from.draw(request({ ...rest, latent }));
  const { bytes, step } = checkpointsOf(from).at(-1) ?? { bytes: new Uint8Array(), step: 0 };
  expect(step).toBe(6);
  const second = await open();
  expect(await second.draw(request({ ...rest, latent, checkpoint: bytes }))).toEqual([pixels]);
  expect(second.ofType('resumed')).toMatchObject([{ step }]);
  await second.draw(request({ ...rest, latent: other, checkpoint: bytes }));
  expect(second.ofType('checkpoint-ignored')).toHaveLength(1);
});

test.each([
  ['a picture', Buffer.from('\x89PNG\r\n\x1a\n{', 'latin1'), 'is no latent of Lehr'],
  [
    'a latent of another size',
    latentFile([4, 4, 8]),
    'holds a latent of [4, 4, 8], and this picture has [4, 8, 8]',
  ],
  [
    'half of a latent',
    latentFile([4, 8, 8]).subarray(0, 500),
    'is no latent of Lehr: it ends 636 bytes too early',
  ],
  ['values that no latent has', latentFile([4, 8, 8], 1e30), 'holds values above 65504'],
  ['values that are not finite', latentFile([4, 8, 8], Number.NaN), 'holds a damaged latent'],
])('%s in place of a latent is refused with the field named', async (_, latent, detail) => {
  const { engine, ofType } = await open();
  engine.submit(request({ latent, denoisingStart: 0.5 }));
  expect(ofType('failed')).toMatchObject([
    { failure: { code: 'invalid-input', problems: [{ pointer: '/input/image' }] } },
  ]);
  expect(ofType('failed')[0].failure.message).toContain(detail);
});

function latentFile(shape: readonly [number, number, number], value = 0.5): Uint8Array {
  const values = new Float32Array(shape[0] * shape[1] * shape[2]).fill(value);
  return encodeLatent({ values, shape, hasSigmaUnits: false });
}

const HIRES = {
  lane: 'diffusion.tiny@1.128x128',
  width: 128,
  height: 128,
  steps: 6,
  strength: 0.7,
  upscaler: 'latent',
} as const;

test.each([
  ['latent', 'ddim'],
  ['latent', 'dpmpp_2m_sde_karras'],
  ['lanczos', 'euler_a'],
  ['lanczos', 'unipc'],
  [UPSCALER.ref, 'ddim'],
  [UPSCALER.ref, 'euler_a'],
] as const)(
  'A picture that grows by %s continues from each checkpoint of both passes, with %s, and is the same',
  async (upscaler, sampler) => {
    const grown = { sampler, steps: 5, hires: { ...HIRES, upscaler }, checkpointAtEnd: true };
    const withUpscaler = upscaler === UPSCALER.ref;
    const first = await open({ everySteps: 1 }, { withUpscaler });
    const [pixels] = await first.draw(request(grown));
    expect(pixels).toHaveLength(128 * 128 * 3);
    const { width, height } = first.ofType('finished')[0];
    expect({ width, height }).toEqual({ width: 128, height: 128 });
    // Progress counts both passes, and the rows are in the lane of each.
    const made = first.ofType('stepped').map(({ lane, samples: [{ step, steps }] }) => [lane, step, steps]);
    const firstLane = request().lane;
    expect(made.map(([lane]) => lane)).toEqual([
      ...Array(made.length - 4).fill(firstLane),
      ...Array(4).fill(HIRES.lane),
    ]);
    expect(new Set(made.map(([, , steps]) => steps))).toEqual(new Set([9]));
    expect(made.at(-1)).toEqual([HIRES.lane, 9, 9]);
    expect(first.ofType('lane-changed').map(({ lane }) => lane)).toEqual([HIRES.lane]);
    const checkpoints = checkpointsOf(first);
    expect(checkpoints.map(({ step }) => step)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);

    const second = await open({}, { withUpscaler });
    for (const { step, bytes } of checkpoints) {
      const before = second.ofType('stepped').length;
      expect(await second.draw(request({ ...grown, checkpoint: bytes }))).toEqual([pixels]);
      const steps = second.ofType('stepped').slice(before);
      expect(steps.map(({ samples }) => samples[0].step)).toEqual(upTo9.slice(step));
    }
    expect(second.ofType('resumed').map(({ step }) => step)).toEqual(upTo9);
    // One of another second pass belongs to another picture.
    const other = { ...grown, hires: { ...grown.hires, strength: 0.9 } };
    await second.draw(request({ ...other, checkpoint: checkpoints[7].bytes }));
    expect(second.ofType('checkpoint-ignored')).toHaveLength(1);
  },
);

const upTo9 = [1, 2, 3, 4, 5, 6, 7, 8, 9];

test.each([
  ['latent', 'ddim', false],
  ['latent', 'euler_a', true],
  ['lanczos', 'dpmpp_2m_sde_karras', false],
] as const)(
  'A masked picture that grows by %s continues from each checkpoint of both passes, with %s, and is the same',
  async (upscaler, sampler, noiseUnderMask) => {
    const kept = { image: pixelsOf(128, 3), mask: upperHalf(128) };
    const grown = {
      ...{ sampler, steps: 5, image: pixelsOf(64, 7), mask: upperHalf(64), strength: 1, noiseUnderMask },
      ...{ hires: { ...HIRES, upscaler, kept }, checkpointAtEnd: true },
    };
    const first = await open({ everySteps: 1 });
    const [pixels] = await first.draw(request(grown));
    const checkpoints = checkpointsOf(first);
    expect(checkpoints.map(({ step }) => step)).toEqual(upTo9);
    const second = await open();
    for (const { bytes } of checkpoints)
      expect(await second.draw(request({ ...grown, checkpoint: bytes }))).toEqual([pixels]);
    expect(second.ofType('resumed').map(({ step }) => step)).toEqual(upTo9);
    // One of a picture that keeps other pixels belongs to another picture.
    const other = { ...grown.hires, kept: { ...kept, image: pixelsOf(128, 5) } };
    await second.draw(request({ ...grown, hires: other, checkpoint: checkpoints[7].bytes }));
    expect(second.ofType('checkpoint-ignored')).toHaveLength(1);
  },
);

test.each(['ddim', 'euler_a'] as const)(
  'A latent of which a part is kept, in the middle of the schedule, continues from a checkpoint of %s the same',
  async (sampler) => {
    const latent = latentFile([4, 8, 8]);
    const begun = { sampler, steps: 10, latent, mask: upperHalf(64), denoisingStart: 0.4 };
    const first = await open();
    const [pixels, whole] = await first.draw(
      request(begun),
      request({ ...begun, mask: upperHalf(64).fill(255) }),
    );
    expect(pixels).not.toEqual(whole);
    const [{ bytes }] = checkpointsOf(first);
    const second = await open();
    expect(await second.draw(request({ ...begun, checkpoint: bytes }))).toEqual([pixels]);
    expect(second.ofType('resumed')).toHaveLength(1);
  },
);

/** Of a square picture. */
const pixelsOf = (side: number, factor: number): Uint8Array =>
  Uint8Array.from({ length: side * side * 3 }, (_, i) => (i * factor) % 256);
const upperHalf = (side: number): Uint8Array =>
  Uint8Array.from({ length: side * side }, (_, i) => (i < (side * side) / 2 ? 255 : 0));

test('The second pass of a picture shares the steps of plain ones of its size, and equals the one drawn alone', async () => {
  const grown = { steps: 4, hires: { ...HIRES, steps: 20 } };
  // Many steps: they are still drawn when the second pass begins, however the turns of the two lanes fall.
  const large = { lane: HIRES.lane, width: 128, height: 128, steps: 60 };
  const [alone] = await (await open({}, { rowCap: 8 })).draw(request(grown));
  const mixed = await open({}, { rowCap: 8 });
  const [together] = await mixed.draw(request(grown), request(large), request({ ...large, seed: 2 }));
  expect(together).toEqual(alone);
  const shared = mixed
    .ofType('stepped')
    .filter(({ lane, samples }) => lane === HIRES.lane && samples.length === 3);
  expect(shared.length).toBeGreaterThan(5);
});

test.each([
  ['first', request().lane],
  ['second', HIRES.lane],
])('A picture that is cancelled in its %s pass leaves the engine at once', async (_, lane) => {
  const sample = request({ steps: 20, hires: { ...HIRES, steps: 30, upscaler: 'lanczos' } });
  const { engine, ofType, draw } = await open(
    {},
    {
      onPost: (message, running) => {
        if (message.type === 'stepped' && message.lane === lane && message.samples[0].id === sample.id)
          running.cancel(sample.id);
      },
    },
  );
  engine.submit(sample);
  await vi.waitFor(() => expect(ofType('canceled')).toHaveLength(1), 30_000);
  const steps = ofType('stepped').length;
  await draw(request({ steps: 3 }));
  expect(ofType('stepped')).toHaveLength(steps + 3);
  expect(ofType('finished')).toHaveLength(1);
});

const ENLARGED = { steps: 3, hires: { ...HIRES, upscaler: UPSCALER.ref } };

const transformOf = (pixels: Uint8Array): TransformSample => ({
  id: `picture-${++made}` as SampleId,
  task: 'transform',
  model: UPSCALER.ref,
  lane: `transform.${UPSCALER.ref}`,
  ...{ pixels, width: 64, height: 64 },
  topK: 5,
  maxBatchMates: 99,
});

test('What a second pass begins at is enlarged in the runs of other jobs, and is the same', async () => {
  const [alone] = await (await open({}, { withUpscaler: true })).draw(request(ENLARGED));
  const job = transformOf(picture(7));
  const sample = request(ENLARGED);
  let shared = 0;
  const { engine, ofType, draw } = await open(
    {},
    {
      withUpscaler: true,
      onPost: (message, running) => {
        // The first pass is over, and is decoded in the next turns.
        if (message.type === 'stepped' && message.samples[0].step === 3) running.submit(job);
        if (message.type === 'running' && message.samples.includes(sample.id) && message.samples.length > 1)
          shared += 1;
      },
    },
  );
  engine.submit(transformOf(picture(9)));
  expect(await draw(sample)).toEqual([alone]);
  expect(shared).toBeGreaterThan(0);
  // Progress of a picture that is drawn counts its steps, and nothing else.
  const ids = ofType('transform-progress').flatMap(({ samples }) => samples.map(({ id }) => id));
  expect(ids).not.toContain(sample.id);
  await vi.waitFor(() => expect(ofType('transformed')).toHaveLength(2), 30_000);
});

test('A picture that leaves while it is enlarged has a checkpoint of its first pass, and one that is cancelled none', async () => {
  for (const act of ['suspend', 'cancel'] as const) {
    const sample = request(ENLARGED);
    const { engine, ofType, draw } = await open(
      { everySteps: 99 },
      {
        withUpscaler: true,
        onPost: (message, running) => {
          if (message.type === 'transform-progress' && ofType('canceled').length === 0)
            running[act](sample.id);
        },
      },
    );
    engine.submit(sample);
    await vi.waitFor(() => expect(ofType('canceled')).toHaveLength(1), 30_000);
    await draw(request({ steps: 2 }));
    const checkpoints = ofType('checkpoints').flatMap(({ samples }) => samples);
    expect(checkpoints.map(({ step }) => step)).toEqual(act === 'suspend' ? [3] : []);
    expect(ofType('finished').map(({ sample: id }) => id)).not.toContain(sample.id);
  }
});

test('A second pass whose upscaler is not open, is refused before the first one', async () => {
  const { engine, ofType } = await open();
  engine.submit(request(ENLARGED));
  expect(ofType('failed')).toMatchObject([
    { failure: { code: 'model-unavailable', problems: [{ pointer: '/input/hires' }] } },
  ]);
  expect(ofType('failed')[0].failure.message).toContain('up@1 cannot enlarge: it is not open');
});

test('A preview of a picture in its second pass shows a step of that', async () => {
  const sample = request({ steps: 4, hires: HIRES });
  const { ofType, draw } = await open(
    {},
    {
      onPost: (message, engine) => {
        if (message.type === 'stepped' && message.samples[0].step === 6) engine.preview(sample.id);
      },
    },
  );
  await draw(sample);
  expect(ofType('preview')).toMatchObject([{ sample: sample.id, step: 7, width: 16, height: 16 }]);
});

test('A second pass that the model cannot make is refused before the first one', async () => {
  const from = await mkdtemp(join(tmpdir(), 'lehr-resume-'));
  onTestFinished(() => rm(from, { recursive: true, force: true }));
  await writeTinyDiffusion(from, { seed: 5, timestepType: 'float32' });
  const { engine, ofType } = await open({}, { from });
  engine.submit(request({ hires: { ...HIRES, upscaler: 'lanczos' } }));
  engine.submit(request({ hires: { ...HIRES, steps: 2, strength: 0.3 } }));
  expect(ofType('failed').map(({ failure }) => failure.problems?.[0].pointer)).toEqual([
    '/input/hires',
    '/input/hires',
  ]);
  expect(ofType('failed')[0].failure.message).toContain('it has no vae_encoder/model.onnx');
});

test('A part of the schedule without a step is refused with the field named', async () => {
  const { engine, ofType } = await open();
  engine.submit(request({ steps: 4, denoisingEnd: 0.01 }));
  engine.submit(request({ steps: 4, image: picture(7), denoisingStart: 0.999 }));
  expect(ofType('failed').map(({ failure }) => failure.problems?.[0].pointer)).toEqual([
    '/input/denoising_end',
    '/input/denoising_start',
  ]);
});

test('A picture to begin at is refused by a model without a VAE encoder, and the field is named', async () => {
  const from = await mkdtemp(join(tmpdir(), 'lehr-resume-'));
  onTestFinished(() => rm(from, { recursive: true, force: true }));
  await writeTinyDiffusion(from, { seed: 5, timestepType: 'float32' });
  const { engine, ofType } = await open({}, { from });
  engine.submit(request({ image: picture(7), strength: 0.5 }));
  expect(ofType('failed')).toMatchObject([
    {
      failure: {
        code: 'invalid-input',
        message: expect.stringContaining(
          '/input/image cannot be used with tiny@1: it has no vae_encoder/model.onnx',
        ),
      },
    },
  ]);
});

test('A suspended picture leaves with a checkpoint of its last step', async () => {
  const sample = request({ steps: 20, sampler: 'dpmpp_2m_sde_karras' });
  const first = await open(
    { everySteps: 100 },
    {
      onPost: (message, engine) => {
        if (message.type === 'stepped' && message.samples[0].step === 7) engine.suspend(sample.id);
      },
    },
  );
  first.engine.submit(sample);
  await vi.waitFor(() => expect(first.ofType('canceled')).toHaveLength(1), 30_000);
  const [{ step, bytes }] = checkpointsOf(first);
  expect(step).toBe(7);

  const second = await open();
  const resumed = await second.draw({ ...sample, id: 'resumed' as SampleId, checkpoint: bytes });
  expect(resumed).toEqual(await second.draw({ ...sample, id: 'whole' as SampleId }));
  expect(second.ofType('resumed')).toEqual([{ type: 'resumed', sample: 'resumed', step: 7 }]);
});

test('A checkpoint of another input is ignored, and the picture starts at its first step', async () => {
  const { draw, ofType, ...rest } = await open();
  await draw(request({ seed: 1 }));
  const [{ bytes }] = checkpointsOf({ draw, ofType, ...rest });
  for (const other of [
    { seed: 2 },
    { prompt: 'a blue square' },
    { guidance: 3 },
    { sampler: 'euler' as const },
  ]) {
    expect(await draw(request({ ...other, checkpoint: bytes }))).toEqual(await draw(request(other)));
  }
  expect(ofType('resumed')).toEqual([]);
  expect(ofType('checkpoint-ignored').map(({ reason }) => reason)).toEqual(
    Array(4).fill('it belongs to another input, another model or other weights'),
  );
});

test('A checkpoint made with other weights is ignored, also when the model has the same name and version', async () => {
  const first = await open();
  await first.draw(request());
  const [{ bytes }] = checkpointsOf(first);

  const copy = await mkdtemp(join(tmpdir(), 'lehr-resume-'));
  onTestFinished(() => rm(copy, { recursive: true, force: true }));
  await cp(folder, copy, { recursive: true });
  await writeFile(join(copy, 'README.md'), 'A file that no graph uses.');
  const same = await open({}, { from: copy });
  await same.draw(request({ checkpoint: bytes }));
  expect(same.ofType('resumed')).toHaveLength(1);

  await writeTinyDiffusion(copy, { seed: 6, timestepType: 'float32' });
  const other = await open({}, { from: copy });
  const [pixels] = await other.draw(request({ checkpoint: bytes }));
  expect(other.ofType('checkpoint-ignored')).toHaveLength(1);
  expect([pixels]).toEqual(await other.draw(request()));
});

test('No checkpoint is made beyond the allowed bytes per second', async () => {
  const { draw, ofType, ...rest } = await open({ everySteps: 1, bytesPerS: 1 });
  await draw(request({ steps: 20 }));
  // The first may be larger than the allowance, which is then used up for longer than the test.
  expect(checkpointsOf({ draw, ofType, ...rest })).toHaveLength(1);
});

test('Slow steps are checkpointed by time', async () => {
  const engine = await open({ everySteps: 100, everyMs: 0 });
  await engine.draw(request({ steps: 4 }));
  expect(checkpointsOf(engine).map(({ step }) => step)).toEqual([1, 2, 3]);
});

test('The checkpoints of pictures that run together come in the same messages', async () => {
  const pictures = Array.from({ length: 4 }, (_, i) => request({ steps: 30 + i, seed: i }));
  const engine = await open({ everySteps: 6 }, { rowCap: 8 });
  await engine.draw(...pictures);
  const together = engine.ofType('checkpoints').filter(({ samples }) => samples.length === 4);
  expect(together.length).toBeGreaterThanOrEqual(3);
});
