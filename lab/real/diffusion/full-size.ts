/** The pipelines at full size: made and exported once, and what each program draws with them, kept in the cache. */
import { existsSync, readFileSync } from 'node:fs';
import { readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join, parse } from 'node:path';
import sharp from 'sharp';
import type { DiffusionToOpen } from '../../../apps/worker/src/engine/protocol/messages.ts';
import type { DiffusersCase, ExpectedPicture } from '../../../test/support/diffusion-fixtures.ts';
import type { PythonProgram } from '../python.ts';
import type { Bench } from '../section.ts';

const SCRIPT = 'lab/real/diffusion/full_size.py';

/** What full_size.py draws with: diffusers in torch, also with the weights of a file, and Optimum's pipeline of ONNX Runtime. */
export type Engine = 'torch' | 'checkpoint' | 'onnx';

export interface Drawn {
  /** CPU time of one step. */
  readonly step_cpu_seconds: number;
}

/** The folder of a pipeline, with `torch` and `onnx` in it. */
export async function fullSize(bench: Bench, name: string): Promise<string> {
  const folder = join(bench.cache, 'full', name);
  await once(join(folder, 'torch'), `making ${name} at full size`, { do: 'make', name, folder }, bench);
  await once(join(folder, 'onnx'), `exporting ${name} with Optimum`, { do: 'export', folder }, bench);
  return folder;
}

/** Adds the VAE encoder to the exported graphs of a pipeline, whose folder it returns. */
export async function withEncoder(bench: Bench, name: string): Promise<string> {
  const folder = await fullSize(bench, name);
  const request = { do: 'export-graph', folder, graph: 'vae_encoder' };
  await once(join(folder, 'onnx/vae_encoder'), `exporting the VAE encoder of ${name}`, request, bench);
  return folder;
}

/** What a diffusion model is opened with, beside its folder. */
export type Parts = Pick<DiffusionToOpen, 'adapters' | 'controls'>;

/** Adds LoRAs and a ControlNet to a pipeline. */
export async function withParts(bench: Bench, folder: string): Promise<Parts> {
  await once(join(folder, 'adapters'), 'making LoRAs', { do: 'make-adapters', folder }, bench);
  await once(join(folder, 'controls'), 'exporting a ControlNet', { do: 'make-control', folder }, bench);
  const files = await readdir(join(folder, 'adapters'));
  return {
    adapters: files.map((file) => ({ name: parse(file).name, path: join(folder, 'adapters', file) })),
    controls: [{ name: 'edges', folder: join(folder, 'controls/edges') }],
  };
}

/** Asks a Python program for what makes `result`, in a separate process, unless an earlier run has made it completely. */
export async function once(
  result: string,
  text: string,
  request: object,
  bench: Bench,
  script = SCRIPT,
): Promise<void> {
  const done = `${result}.done`;
  if (existsSync(done)) return;
  bench.say(text);
  await rm(result, { recursive: true, force: true });
  const program = await bench.openPython(script);
  try {
    await program.ask(request);
    await writeFile(done, '');
  } finally {
    await program.close();
  }
}

/** Opens a pipeline in Python. */
export async function openEngine(bench: Bench, folder: string, engine: Engine): Promise<PythonProgram> {
  const program = await bench.openPython(SCRIPT);
  await program.ask({ do: 'open', folder, engine });
  return program;
}

/** The picture of a case, by its name, and how long it took. */
export type DrawnOf = (each: { readonly name: string }) => Promise<ExpectedPicture & Drawn>;

/** Draws the cases that no earlier run has drawn. */
export async function drawWith(
  bench: Bench,
  folder: string,
  engine: Engine,
  cases: readonly DiffusersCase[],
): Promise<DrawnOf> {
  const out = join(folder, 'drawn', engine);
  const missing = cases.filter(({ name }) => !existsSync(join(out, `${name}.json`)));
  if (missing.length > 0) {
    const program = await openEngine(bench, folder, engine);
    for (const each of missing) {
      bench.say(`${engine} draws ${each.name}`);
      const drawn = await program.ask<Drawn>({ do: 'draw', case: each, out });
      await writeFile(join(out, `${each.name}.json`), JSON.stringify(drawn));
    }
    await program.close();
  }
  return readDrawn(out);
}

/** The pictures in a folder that a program drew. */
export const readDrawn =
  (out: string): DrawnOf =>
  async ({ name }) => {
    const pixels = await sharp(join(out, `${name}.png`))
      .removeAlpha()
      .raw()
      .toBuffer();
    const drawn = JSON.parse(readFileSync(join(out, `${name}.json`), 'utf8')) as Drawn;
    return { ...drawn, latent: latentIn(join(out, name)), pixels: new Uint8Array(pixels) };
  };

/** The latent of a drawn case. */
export const latentIn = (path: string): Float32Array =>
  new Float32Array(new Uint8Array(readFileSync(`${path}.latent.f32`)).buffer);

/** Bytes of the files of an exported pipeline. */
export async function sizeOf(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const sizes = await Promise.all(
    files.map(async (file) => (await stat(join(file.parentPath, file.name))).size),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}
