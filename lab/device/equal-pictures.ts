/** Pictures of a device beside those of the CPU, and beside those that the device draws alone. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  type DiffusionModel,
  openDiffusionModel,
} from '../../apps/worker/src/engine/diffusion/folder/diffusion-folder.ts';
import { onnxRuntime } from '../../apps/worker/src/engine/runtime/onnx.ts';
import type { Provider } from '../../apps/worker/src/engine/runtime/runtime.ts';
import {
  casesOf,
  type DiffusersCase,
  denoise,
  expectedLatent,
  sampleOf,
  unpackFixture,
} from '../../test/support/diffusion-fixtures.ts';
import { differenceOf, orError, worstOf } from './figures.ts';
import { openPictureEngine, type PictureRequest, pixelsOf } from './picture-engine.ts';

const DEMO = new URL('../../packages/demo-models/', import.meta.url);
export const DEMO_DIFFUSION = fileURLToPath(new URL('models/demo-diffusion', DEMO));

/** As torch's exporters and Optimum write them, with few channels; the last two in float16. */
const FIXTURES = [
  ...['sd15', 'sd21', 'lcm', 'sdxl', 'sdxl-lcm-dynamo-21', 'sd15-torchscript-14', 'sd15-torchscript-17'],
  ...['sd15-dynamo-18', 'sd15-dynamo-21-one', 'sd15-dynamo-21-rows', 'sd15-fp16', 'sd15-fp16-converted'],
];

/** The final latents of the demo model's pictures, of all of them in one batch and of each alone. */
export async function demoLatents(provider: Provider): Promise<object> {
  const file = new URL('train/diffusion/fixtures/parity/fixtures.json', DEMO);
  const parsed = JSON.parse(await readFile(file, 'utf8')) as DiffusersCase[];
  const cases = parsed.map((each, i) => ({ ...each, name: `case-${i}` }));
  const [onDevice, onCpu] = [await openOn(DEMO_DIFFUSION, provider), await openOn(DEMO_DIFFUSION, 'cpu')];
  const alone = await latentsAlone(onDevice, cases);
  const cpu = await latentsAlone(onCpu, cases);
  const bySize = new Map<string, number[]>();
  for (const [i, { width, height }] of cases.entries()) {
    const key = `${width}x${height}`;
    bySize.set(key, [...(bySize.get(key) ?? []), i]);
  }
  const mixed: Float32Array[] = [];
  for (const indices of bySize.values()) {
    const together = await Promise.all(indices.map((i) => sampleOf(onDevice, cases[i])));
    await denoise(onDevice, together);
    for (const [at, i] of indices.entries()) mixed[i] = together[at].denoising.latent;
  }
  const result = {
    graphs: onDevice.graphs,
    pictures: cases.length,
    cpu: worstOf(alone.map((latent, i) => differenceOf(latent, cpu[i]))),
    mixedWithAlone: worstOf(mixed.map((latent, i) => differenceOf(latent, alone[i]))),
  };
  await onDevice.close();
  await onCpu.close();
  return result;
}

/** Pictures through the engine: other steps, guidance and samplers in one batch, which is padded to the ladder. */
export async function demoPixels(provider: Provider): Promise<object> {
  const requests: PictureRequest[] = (
    ['euler', 'ddim', 'dpmpp_2m', 'euler_a', 'unipc', 'euler', 'ddim'] as const
  ).map((sampler, i) => ({
    ...{ width: 256, height: 256, sampler, seed: i, steps: 12 + 4 * i, guidance: i % 3 === 2 ? 1 : 2 + i },
    prompt: ['a red circle on a blue background', 'two stars above a green square'][i % 2],
  }));
  const pixelsOn = async (device: Provider, rowCap: number, inOneBatch: boolean): Promise<Uint8Array[]> => {
    const engine = await openPictureEngine({
      folder: DEMO_DIFFUSION,
      providers: [device],
      rowCap,
      side: 256,
    });
    const ends = inOneBatch ? await engine.draw(requests) : [];
    if (!inOneBatch) for (const request of requests) ends.push(...(await engine.draw([request])));
    await engine.close();
    return ends.map(pixelsOf);
  };
  const cpu = await pixelsOn('cpu', 2, false);
  const alone = await pixelsOn(provider, 2, false);
  const mixed = await pixelsOn(provider, 32, true);
  return {
    pictures: requests.length,
    cpu: worstOf(alone.map((pixels, i) => differenceOf(pixels, cpu[i]))),
    mixedWithAlone: worstOf(mixed.map((pixels, i) => differenceOf(pixels, alone[i]))),
  };
}

/** Each fixture's pictures, in one batch, beside those of torch. */
export async function fixtureLatents(provider: Provider): Promise<object> {
  const results: Record<string, object> = {};
  for (const name of FIXTURES) results[name] = await orError(() => fixture(name, provider));
  return results;
}

async function fixture(name: string, provider: Provider): Promise<object> {
  const folder = await mkdtemp(join(tmpdir(), 'lehr-device-'));
  try {
    unpackFixture(name, folder);
    const cases = casesOf(name).slice(0, 4);
    const distances = async (device: Provider) => {
      const model = await openOn(folder, device);
      try {
        const alone = await latentsAlone(model, cases);
        const fits = cases.filter((each) => sizeOf(each) === sizeOf(cases[0]));
        const samples = await Promise.all(fits.map((each) => sampleOf(model, each)));
        if (model.batching.mode === 'rows') await denoise(model, samples);
        return {
          batching: model.batching.mode,
          placement: model.graphs.map(({ graph, placement }) => ({ graph, ...placement })),
          torch: worstOf(alone.map((latent, i) => differenceOf(latent, expectedLatent(name, cases[i])))),
          ...(model.batching.mode === 'rows' && {
            mixedWithAlone: worstOf(
              samples.map(({ denoising: { latent } }, i) =>
                differenceOf(latent, alone[cases.indexOf(fits[i])]),
              ),
            ),
          }),
        };
      } finally {
        await model.close();
      }
    };
    return { cases: cases.length, device: await distances(provider), cpu: await distances('cpu') };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const sizeOf = ({ width, height }: DiffusersCase): string => `${width}x${height}`;

const openOn = (folder: string, provider: Provider): Promise<DiffusionModel> =>
  openDiffusionModel(folder, onnxRuntime, { providers: [provider] });

async function latentsAlone(model: DiffusionModel, cases: readonly DiffusersCase[]): Promise<Float32Array[]> {
  const latents: Float32Array[] = [];
  for (const each of cases) {
    const sample = await sampleOf(model, each);
    await denoise(model, [sample]);
    latents.push(sample.denoising.latent);
  }
  return latents;
}
