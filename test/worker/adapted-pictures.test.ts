/** The engine draws pictures with adapters: which it refuses, both passes, and which checkpoints it continues from. */
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { Engine } from '../../apps/worker/src/engine/engine.ts';
import type {
  DiffusionSample,
  FromEngine,
  SampleId,
} from '../../apps/worker/src/engine/protocol/messages.ts';
import { onnxRuntime } from '../../apps/worker/src/engine/runtime/onnx.ts';
import { systemClock } from '../../packages/shared/src/index.ts';
import { unpackFixture } from '../support/diffusion-fixtures.ts';
import { tempFolder } from '../support/tiny-models.ts';

type Of<Type extends FromEngine['type']> = Extract<FromEngine, { type: Type }>;

/** An engine with a model that has these files of the folder `adapters` as its adapters. */
async function open(folder: string, names: readonly string[]) {
  const posted: FromEngine[] = [];
  const ofType = <Type extends FromEngine['type']>(type: Type) =>
    posted.filter((message): message is Of<Type> => message.type === type);
  const engine = new Engine({
    runtime: onnxRuntime,
    settings: {
      providers: ['cpu'],
      rowCap: 8,
      threads: 1,
      checkpoints: { everySteps: 2, everyMs: 3_600_000, bytesPerS: 1e9 },
    },
    clock: systemClock,
    post: (message) => posted.push(message),
  });
  const adapters = names.map((name) => ({ name, path: join(folder, 'adapters', `${name}.safetensors`) }));
  const warmUp = { width: 64, height: 64 };
  await engine.open({ ref: 'sd15@1', task: 'diffusion', folder, warmUp, adapters });
  const running = engine.run();
  onTestFinished(async () => {
    engine.close();
    await running;
  });
  const draw = async (...samples: readonly DiffusionSample[]): Promise<(Uint8Array | undefined)[]> => {
    for (const sample of samples) engine.submit(sample);
    const pixelsOf = (id: SampleId) => ofType('finished').find(({ sample }) => sample === id)?.pixels;
    await vi.waitFor(() => {
      expect(ofType('failed')).toEqual([]);
      for (const { id } of samples) expect(pixelsOf(id)).toBeDefined();
    }, 60_000);
    return samples.map(({ id }) => pixelsOf(id));
  };
  return { engine, ofType, draw };
}

const HIRES = {
  lane: 'sd15@1.128x128',
  width: 128,
  height: 128,
  steps: 8,
  strength: 0.5,
  upscaler: 'latent',
};

let made = 0;
const request = (fields: Partial<DiffusionSample> = {}): DiffusionSample => ({
  id: `adapted-${++made}` as SampleId,
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

test('A picture with adapters continues from the checkpoints of both passes beside a new adapter, and begins anew with a changed one', {
  timeout: 240_000,
  tags: ['long'],
}, async () => {
  const folder = await tempFolder('adapted');
  for (const fixture of ['sd15', 'sd15-adapters']) unpackFixture(fixture, folder);
  const adapters = [{ name: 'kohya', scale: 0.8 }];
  const own = (fields: Partial<DiffusionSample> = {}) => request({ adapters, hires: HIRES, ...fields });
  const before = await open(folder, ['kohya']);
  const first = own();
  const [pixels, plain] = await before.draw(first, request({ hires: HIRES }));
  expect(pixels).not.toEqual(plain);
  const checkpoints = before
    .ofType('checkpoints')
    .flatMap(({ samples }) => samples.filter(({ id }) => id === first.id));
  const steps = checkpoints.map(({ step }) => step);
  expect([steps[0] < 4, (steps.at(-1) ?? 0) > 4]).toEqual([true, true]);

  const more = await open(folder, ['locon', 'kohya']);
  for (const { bytes } of checkpoints) await more.draw(own({ checkpoint: bytes }));
  expect(more.ofType('resumed').map(({ step }) => step)).toEqual(steps);
  expect(more.ofType('checkpoint-ignored')).toEqual([]);
  // Each is refused at its place in the list.
  more.engine.submit(own({ adapters: [...adapters, { name: 'oil', scale: 1 }] }));
  const [{ failure }] = more.ofType('failed');
  expect([failure.code, failure.problems]).toEqual([
    'invalid-input',
    [{ pointer: '/input/adapters/1/name', detail: '"oil" cannot be used: The model has none of this name.' }],
  ]);

  await cp(join(folder, 'adapters/plain.safetensors'), join(folder, 'adapters/kohya.safetensors'));
  const changed = await open(folder, ['kohya']);
  const [other] = await changed.draw(own({ checkpoint: checkpoints[0].bytes }));
  expect(changed.ofType('resumed')).toEqual([]);
  expect(changed.ofType('checkpoint-ignored')).toHaveLength(1);
  expect(other).not.toEqual(pixels);
});
