/** Lehr draws cases, in one batch and the last one also alone. What it drew is kept, as full_size.py keeps what it drew. */
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import sharp from 'sharp';
import {
  type DiffusionModel,
  openDiffusionModel,
} from '../../../apps/worker/src/engine/diffusion/folder/diffusion-folder.ts';
import { onnxRuntime } from '../../../apps/worker/src/engine/runtime/onnx.ts';
import { type DiffusersCase, denoise, sampleOf } from '../../../test/support/diffusion-fixtures.ts';
import { type Drawn, type DrawnOf, readDrawn } from './full-size.ts';

/** The name of the picture that was drawn alone. */
export const aloneOf = ({ name }: DiffusersCase): { name: string } => ({ name: `${name}-alone` });

/** `graphs` is the folder of the export below `folder`. */
export async function drawWithLehr(
  folder: string,
  cases: readonly DiffusersCase[],
  graphs = 'onnx',
): Promise<DrawnOf> {
  const out = join(folder, 'drawn', graphs === 'onnx' ? 'lehr' : `lehr-${graphs}`);
  const last = cases[cases.length - 1];
  if (existsSync(join(out, `${aloneOf(last).name}.json`))) return readDrawn(out);
  await mkdir(out, { recursive: true });
  const model = await openDiffusionModel(join(folder, graphs), onnxRuntime, {
    providers: ['cpu'],
    threads: 1,
  });
  try {
    await draw(model, cases, out, ({ name }) => name);
    await draw(model, [last], out, (each) => aloneOf(each).name);
  } finally {
    await model.close();
  }
  return readDrawn(out);
}

async function draw(
  model: DiffusionModel,
  cases: readonly DiffusersCase[],
  out: string,
  nameOf: (each: DiffusersCase) => string,
): Promise<void> {
  const samples = await Promise.all(cases.map((each) => sampleOf(model, each)));
  const before = process.cpuUsage();
  await denoise(model, samples);
  const { user, system } = process.cpuUsage(before);
  const drawn: Drawn = { step_cpu_seconds: (user + system) / 1e6 / cases[0].steps };
  for (const [i, each] of cases.entries()) {
    const path = join(out, nameOf(each));
    const raw = { width: each.width, height: each.height, channels: 3 } as const;
    await writeFile(`${path}.latent.f32`, new Uint8Array(samples[i].denoising.latent.buffer));
    await sharp(await model.vae.decode(samples[i].denoising.latent, each), { raw })
      .png()
      .toFile(`${path}.png`);
    await writeFile(`${path}.json`, JSON.stringify(drawn));
  }
}
