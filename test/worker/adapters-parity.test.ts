/**
 * LoRAs and ControlNets against diffusers and PEFT in torch: the fixtures of lab/real/diffusion that end in `-adapters` and `-control`. A LoRA is in
 * each layout that people have, and all pictures share UNet runs: those with other LoRAs at other scales, with one or two ControlNets, and with none.
 */
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, parse } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import {
  type DiffusionModel,
  openDiffusionModel,
} from '../../apps/worker/src/engine/diffusion/folder/diffusion-folder.ts';
import type { LaneSample } from '../../apps/worker/src/engine/diffusion/lane/lane-sample.ts';
import { onnxRuntime } from '../../apps/worker/src/engine/runtime/onnx.ts';
import {
  casesOf,
  type DiffusersCase,
  denoise,
  expectedPicture,
  relativeDistance,
  sampleOf,
  unpackFixture,
} from '../support/diffusion-fixtures.ts';

/** The graphs take seconds to load; the machine may be busy. */
const OPENING_MS = 900_000;

/** The fixtures in `folder`, open with all LoRAs and ControlNets that are in them. */
async function openWithParts(folder: string, fixture: string): Promise<DiffusionModel> {
  unpackFixture(fixture, folder);
  const files = await readdir(join(folder, 'adapters'));
  const controls = await readdir(join(folder, 'controls'));
  return openDiffusionModel(folder, onnxRuntime, {
    providers: ['cpu'],
    threads: 1,
    adapters: files.map((file) => ({
      name: parse(file).name,
      // What PEFT writes is a folder.
      path: join(
        folder,
        'adapters',
        file.endsWith('.safetensors') ? file : `${file}/adapter_model.safetensors`,
      ),
    })),
    controls: controls.map((name) => ({ name, folder: join(folder, 'controls', name) })),
  });
}

async function drawn(
  model: DiffusionModel,
  cases: readonly DiffusersCase[],
  folder: string,
): Promise<readonly LaneSample[]> {
  const samples = await Promise.all(cases.map((each) => sampleOf(model, each, folder)));
  await denoise(model, samples);
  return samples;
}

/** Eight settings of LoRAs, and one with a ControlNet; of SDXL fewer, because its runs take longer. */
const ALONE: Readonly<Record<string, readonly string[]>> = {
  sd15: 'kohya plain locon diffusers trained peft two three with-adapters'.split(' '),
  sdxl: ['two', 'with-adapters'],
};

for (const [family, alone] of Object.entries(ALONE)) describe(family, () => parityOf(family, alone));

function parityOf(family: string, alone: readonly string[]): void {
  const cases = [family, `${family}-adapters`, `${family}-control`].flatMap((fixture) =>
    casesOf(fixture).map((each) => ({ fixture, each })),
  );
  let folder: string;
  let model: DiffusionModel;
  let together: readonly LaneSample[];
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'lehr-parity-'));
    model = await openWithParts(folder, `${family}-control`);
    together = await drawn(
      model,
      cases.map(({ each }) => each),
      folder,
    );
  }, OPENING_MS);
  afterAll(async () => {
    await model?.close();
    await rm(folder, { recursive: true, force: true });
  });

  test.each(cases.map(({ fixture, each }, index) => ({ ...each, fixture, index })))(
    'The picture $name of $fixture has the final latent and the pixels of torch, drawn in a batch with the others',
    async ({ fixture, index }) => {
      const expected = await expectedPicture(fixture, cases[index].each);
      const { denoising, request } = together[index];
      expect(relativeDistance(denoising.latent, expected.latent)).toBeLessThanOrEqual(1e-3);
      const pixels = await model.vae.decode(denoising.latent, request);
      const differences = expected.pixels.map((value, i) => Math.abs(value - pixels[i]));
      expect(Math.max(...differences)).toBeLessThanOrEqual(2);
    },
  );

  test('No LoRA and no ControlNet is refused', () => {
    const problems = [...model.adapters.opened, ...model.controls].map(({ problem }) => problem);
    expect(problems.filter((problem) => problem !== undefined)).toEqual([]);
  });

  test(
    `Rows with ${alone.length} settings of LoRAs in one call equal each row alone`,
    async () => {
      for (const [index, { fixture, each }] of cases.entries()) {
        if (fixture === family || !alone.includes(each.name)) continue;
        const [sample] = await drawn(model, [each], folder);
        const distance = relativeDistance(together[index].denoising.latent, sample.denoising.latent);
        expect({ name: each.name, distance }).toEqual({
          name: each.name,
          distance: expect.toSatisfy((own) => own <= 1e-5),
        });
      }
    },
    OPENING_MS,
  );
}

/** How far diffusers in float16 is from float32 in these pictures (lab/real/diffusion/families.py draws such). */
const HALF: Readonly<Record<string, number>> = {
  'sd15-adapters/kohya': 5.2e-3,
  'sd15-adapters/plain': 3.5e-3,
  'sd15-adapters/locon': 1.1e-3,
  'sd15-adapters/diffusers': 3.7e-3,
  'sd15-adapters/peft': 4.9e-3,
  'sd15-adapters/two': 5.6e-3,
  'sd15-control/edges': 4.6e-3,
  'sd15-control/two-windows': 4.8e-3,
  'sd15-control/with-adapters': 4.8e-3,
};

test.each([
  ['sd15-fp16', HALF],
  ['sd15-fp16-converted', HALF],
  ['sd15-torchscript-17', undefined],
  ['sd15-dynamo-18', undefined],
  ['sd15-dynamo-21-rows', undefined],
] as const)('The graphs of %s take LoRAs and ControlNets too', { tags: ['long'] }, async (graphs, limits) => {
  const folder = await mkdtemp(join(tmpdir(), 'lehr-parity-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  unpackFixture('sd15-control', folder);
  const model = await openWithParts(folder, graphs);
  onTestFinished(() => model.close());
  const chosen = ['sd15-adapters', 'sd15-control'].flatMap((fixture) =>
    casesOf(fixture)
      .filter(({ name }) => `${fixture}/${name}` in HALF)
      .map((each) => ({ fixture, each })),
  );
  const samples = await drawn(
    model,
    chosen.map(({ each }) => each),
    folder,
  );
  const missed: string[] = [];
  for (const [i, { fixture, each }] of chosen.entries()) {
    const { latent } = await expectedPicture(fixture, each);
    const distance = relativeDistance(samples[i].denoising.latent, latent);
    const limit = limits?.[`${fixture}/${each.name}`] ?? 1e-3;
    if (!(distance <= limit)) missed.push(`${each.name}: ${distance}, at most ${limit}`);
  }
  expect(chosen.length).toBe(Object.keys(HALF).length);
  expect(missed).toEqual([]);
});
