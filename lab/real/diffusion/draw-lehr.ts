/** Lehr draws cases: those of one size in a batch, and the last one also alone. What it drew is written as full_size.py writes what it drew. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import sharp from 'sharp';
import {
  type DiffusionModel,
  openDiffusionModel,
} from '../../../apps/worker/src/engine/diffusion/folder/diffusion-folder.ts';
import type { LaneSample } from '../../../apps/worker/src/engine/diffusion/lane/lane-sample.ts';
import { onnxRuntime } from '../../../apps/worker/src/engine/runtime/onnx.ts';
import {
  type DiffusersCase,
  denoise,
  type LatentOf,
  sampleOf,
  secondPasses,
} from '../../../test/support/diffusion-fixtures.ts';
import { type Drawn, type DrawnOf, type Parts, readDrawn } from './full-size.ts';

/** The name of the picture that was drawn alone. */
export const aloneOf = ({ name }: DiffusersCase): { name: string } => ({ name: `${name}-alone` });

interface Options extends Parts {
  /** The folder of the export below that of the pipeline; `onnx` by default. */
  readonly graphs?: string;
  /** The latents that cases begin at. */
  readonly latentOf?: LatentOf;
}

/** `folder` also has the pictures that cases begin at. */
export async function drawWithLehr(
  folder: string,
  cases: readonly DiffusersCase[],
  { graphs = 'onnx', latentOf, ...parts }: Options = {},
): Promise<DrawnOf> {
  const out = join(folder, 'drawn', graphs === 'onnx' ? 'lehr' : `lehr-${graphs}`);
  const last = cases[cases.length - 1];
  await mkdir(out, { recursive: true });
  const model = await openDiffusionModel(join(folder, graphs), onnxRuntime, {
    providers: ['cpu'],
    threads: 1,
    ...parts,
  });
  const drawing = { model, out, samplesOf: samplesOf(model, folder, latentOf) };
  try {
    for (const width of new Set(cases.map((each) => each.width))) {
      const batch = cases.filter((each) => each.width === width);
      await draw(drawing, batch, ({ name }) => name);
    }
    await draw(drawing, [last], (each) => aloneOf(each).name);
  } finally {
    await model.close();
  }
  return readDrawn(out);
}

type SamplesOf = (cases: readonly DiffusersCase[]) => Promise<readonly LaneSample[]>;

const samplesOf =
  (model: DiffusionModel, folder: string, latentOf?: LatentOf): SamplesOf =>
  (cases) =>
    Promise.all(cases.map((each) => sampleOf(model, each, folder, latentOf)));

async function draw(
  { model, out, samplesOf }: { model: DiffusionModel; out: string; samplesOf: SamplesOf },
  cases: readonly DiffusersCase[],
  nameOf: (each: DiffusersCase) => string,
): Promise<void> {
  const first = await samplesOf(cases);
  const before = process.cpuUsage();
  await denoise(model, first);
  const { user, system } = process.cpuUsage(before);
  const drawn: Drawn = { step_cpu_seconds: (user + system) / 1e6 / cases[0].steps };
  const samples = await secondPasses(model, first);
  await denoise(model, samples);
  for (const [i, each] of cases.entries()) {
    const path = join(out, nameOf(each));
    const { request, denoising } = samples[i];
    const raw = { width: request.width, height: request.height, channels: 3 } as const;
    await writeFile(`${path}.latent.f32`, new Uint8Array(denoising.latent.buffer));
    await sharp(await model.vae.decode(denoising.latent, request), { raw })
      .png()
      .toFile(`${path}.png`);
    await writeFile(`${path}.json`, JSON.stringify(drawn));
  }
}
