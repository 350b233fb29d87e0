/**
 * The diffusion families, from exports that Optimum made, against diffusers in torch: the fixtures of lab/real/diffusion. All
 * cases of a fixture share UNet runs, although their samplers, steps and guidance differ, and each must still end as in torch.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readDiffusionConfig } from '../../apps/worker/src/engine/diffusion/folder/diffusion-config.ts';
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
  secondPasses,
  unpackFixture,
} from '../support/diffusion-fixtures.ts';

/** Fixtures with graphs, and those that differ from them in their configs, or have a VAE encoder more. */
const FIXTURES = [
  ['sd15', 'sd15-image', 'sd15-inpaint', 'sd15-hires', 'sd15-inpaint-hires'],
  ['sd21', 'sd-turbo'],
  ['lcm', 'lcm-image'],
  ['sdxl', 'sdxl-turbo', 'sdxl-image', 'sdxl-inpaint', 'sdxl-window', 'sdxl-hires'],
  ['sdxl-lcm'],
  ['sdxl-refiner', 'sdxl-refiner-window', 'sdxl-refiner-inpaint'],
  ['sd-inpaint', 'sd-inpaint-hires'],
  ['sdxl-own-inpaint'],
];

/** The graph of SDXL has 13,000 nodes, which take 8 s of CPU time to load; the machine may be busy. */
const OPENING_MS = 900_000;

for (const [base, ...derived] of FIXTURES) {
  // Its graphs take as long to load as those of SDXL, and what is its own is in those of `sdxl` and `lcm`.
  const tags = base === 'sdxl-lcm' ? ['long'] : [];
  describe(base, { tags }, () => family(base, derived));
}

function family(base: string, derived: readonly string[]): void {
  let folder: string;
  let opened: DiffusionModel;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'lehr-fixture-'));
    // The base last: its configs are those to open.
    for (const name of [...derived, base]) unpackFixture(name, folder);
    opened = await openDiffusionModel(folder, onnxRuntime, { providers: ['cpu'], threads: 1 });
  }, OPENING_MS);
  afterAll(async () => {
    await opened?.close();
    await rm(folder, { recursive: true, force: true });
  });

  test('The rows of its UNet can be at different timesteps', () => {
    expect(opened.batching).toEqual({ mode: 'rows' });
  });

  describe.each([base, ...derived])('%s', (name) => {
    const cases = casesOf(name);
    let model: DiffusionModel;
    let together: readonly LaneSample[];
    beforeAll(async () => {
      // The graphs are those of the base, which is open: opening them again would take most of the time.
      unpackFixture(name, folder);
      model = { ...opened, schedulerConfig: (await readDiffusionConfig(folder)).scheduler };
      together = await Promise.all(cases.map((each) => sampleOf(model, each, folder)));
      await denoise(model, together);
      together = await secondPasses(model, together);
      await denoise(model, [...together, ...(await plainBeside(model, cases[0]))]);
    }, OPENING_MS);

    test.each(cases.map((each, index) => ({ ...each, index })))(
      'The picture $name has the final latent and the pixels of torch, drawn in a batch with the others',
      async ({ index }) => {
        const each = cases[index];
        const expected = await expectedPicture(name, each);
        expect(relativeDistance(together[index].denoising.latent, expected.latent)).toBeLessThanOrEqual(1e-3);
        const { denoising, request } = together[index];
        const pixels = await model.vae.decode(denoising.latent, request);
        const differences = expected.pixels.map((value, i) => Math.abs(value - pixels[i]));
        expect(Math.max(...differences)).toBeLessThanOrEqual(2);
      },
    );

    test('A picture that is drawn alone equals the one from the batch', async () => {
      let alone = await sampleOf(model, cases[0], folder);
      await denoise(model, [alone]);
      [alone] = await secondPasses(model, [alone]);
      await denoise(model, [alone]);
      expect(relativeDistance(together[0].denoising.latent, alone.denoising.latent)).toBeLessThanOrEqual(
        1e-5,
      );
    });
  });
}

/** A picture that is drawn at the size of a second pass from the beginning, so that it shares the UNet runs of that. */
async function plainBeside(
  model: DiffusionModel,
  { hires, image: _, mask: __, strength: ___, ...each }: DiffusersCase,
): Promise<LaneSample[]> {
  // A UNet that reads a mask draws no plain pictures.
  if (!hires || model.conditioning.readsMask) return [];
  const size = { width: each.width * hires.scale, height: each.height * hires.scale };
  return [await sampleOf(model, { ...each, ...size, seed: 9 })];
}
