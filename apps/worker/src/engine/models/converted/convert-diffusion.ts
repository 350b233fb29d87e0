/** `lehr models prepare --precision fp16`: writes the UNet and the text encoders of a copy of a diffusion folder in half precision. */
import { existsSync } from 'node:fs';
import { readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { LehrError } from '@lehr/shared';
import { openDiffusionModel } from '../../diffusion/folder/diffusion-folder.ts';
import { rewireTimestep } from '../../diffusion/folder/rewire-unet.ts';
import { type KeptFile, keptFile } from '../../folder/prepared-manifest.ts';
import { shareOfDifference, TOLERANCE } from '../../runtime/agreement.ts';
import { weightFiles } from '../../runtime/external-data.ts';
import type { InferenceRuntime, LoadOptions } from '../../runtime/runtime.ts';
import type { Tensor } from '../../runtime/tensor.ts';
import { type Recorded, recording } from '../prepared/recording.ts';
import { badValue, writeHalfGraph } from './half-graph.ts';
import { isHalfCopy, writeConverted } from './manifest.ts';

export const HALF_TOLERANCE = TOLERANCE.float16;
/** The VAE is not among them: that of SDXL overflows in half precision. */
const CONVERTED = ['text_encoder', 'text_encoder_2', 'unet'].map((name) => `${name}/model.onnx`);
/** Its name differs from those that exporters use, so that it never replaces weights of the original while they are read. */
const DATA = 'model.lehr-half.onnx_data';

export interface HalvedGraph {
  /** Below the folder. */
  readonly graph: string;
  /** `float32` when it stays as it was, for `reason`. */
  readonly precision: 'float16' | 'float32';
  readonly reason: string | null;
  /** From the original on the same inputs, as a share of its largest output; null where it could not run. */
  readonly difference: number | null;
  /** Of the graph with its weights. */
  readonly bytes: { readonly before: number; readonly after: number };
}

/**
 * Changes the files of `copy`, which nothing else may use. Throws what opening the folder throws, and LehrError `model-unavailable` when
 * no graph could be converted.
 */
export async function convertDiffusion(
  copy: string,
  runtime: InferenceRuntime,
  options: LoadOptions,
): Promise<HalvedGraph[]> {
  if (await isHalfCopy(copy)) throw new LehrError('conflict', 'The model is already in half precision.');
  const recorded: Recorded[] = [];
  const opened = await openDiffusionModel(copy, recording(runtime, recorded), options);
  const used = recorded.filter(({ isClosed }) => !isClosed);
  await opened.close();
  const files: { sources: KeptFile[]; results: KeptFile[] } = { sources: [], results: [] };
  const graphs: HalvedGraph[] = [];
  for (const each of used) {
    if (!CONVERTED.includes(relative(copy, each.source.path))) continue;
    const { graph, sources, results } = await convertGraph(copy, each, runtime);
    graphs.push(graph);
    files.sources.push(...sources);
    files.results.push(...results);
  }
  if (files.results.length === 0) {
    const reasons = graphs.map(({ graph, reason }) => `${graph}: ${reason}`).join('; ');
    throw new LehrError('model-unavailable', `No graph could be converted to half precision (${reasons}).`);
  }
  await writeConverted(copy, {
    format: 1,
    made_at: new Date().toISOString(),
    precision: 'fp16',
    ...files,
    difference: Math.max(
      ...graphs.map(({ precision, difference }) => (precision === 'float16' ? (difference ?? 0) : 0)),
    ),
    tolerance: HALF_TOLERANCE,
  });
  return graphs;
}

interface ConvertedFiles {
  readonly graph: HalvedGraph;
  readonly sources: readonly KeptFile[];
  readonly results: readonly KeptFile[];
}

async function convertGraph(
  folder: string,
  recorded: Recorded,
  runtime: InferenceRuntime,
): Promise<ConvertedFiles> {
  const { path } = recorded.source;
  const graph = relative(folder, path);
  const [draft, check, data] = [
    `${path}.lehr-draft.onnx`,
    `${path}.lehr-check.onnx`,
    join(dirname(path), DATA),
  ];
  const paths = [path, ...weightFiles({ path }).map((name) => join(dirname(path), name))];
  const before = await sizeOf(paths);
  let difference: number | null = null;
  try {
    const values = writeHalfGraph(path, { graph: draft, check, data });
    difference = await differenceOf(draft, recorded, runtime);
    if (!(difference <= HALF_TOLERANCE)) throw new Error('it differs too much in half precision');
    await checkValues(check, values, recorded, runtime);
  } catch (cause) {
    await Promise.all([draft, check, data].map((each) => rm(each, { force: true })));
    const message = cause instanceof Error ? cause.message : String(cause);
    // The folder of the copy has another name later, or none.
    const reason = message.replace(`${path} `, 'it ').replaceAll(`${folder}/`, '');
    const bytes = { before, after: before };
    const isNumber = difference !== null && Number.isFinite(difference);
    const kept = {
      graph,
      precision: 'float32',
      reason,
      difference: isNumber ? difference : null,
      bytes,
    } as const;
    return { graph: kept, sources: [], results: [] };
  }
  const keptFiles = (places: readonly string[]): Promise<KeptFile[]> =>
    Promise.all(places.map((each) => keptFile(folder, relative(folder, each))));
  const sources = await keptFiles(paths);
  await rm(check);
  await rename(draft, path);
  await removeWeights(path, paths.slice(1));
  const after = await sizeOf([path, data]);
  const made = { graph, precision: 'float16', reason: null, difference, bytes: { before, after } } as const;
  return { graph: made, sources, results: await keptFiles([path, data]) };
}

/** Of the float32 graph; another graph in the folder may use them too. */
async function removeWeights(path: string, weights: readonly string[]): Promise<void> {
  const graphs = (await readdir(dirname(path))).filter((name) => name.endsWith('.onnx'));
  if (graphs.length === 1) for (const each of weights) await rm(each, { force: true });
}

async function sizeOf(paths: readonly string[]): Promise<number> {
  const there = await Promise.all(paths.filter((path) => existsSync(path)).map((path) => stat(path)));
  return there.reduce((sum, { size }) => sum + size, 0);
}

/** On the inputs of the original's first run, and rewired where the original was. */
async function differenceOf(
  draft: string,
  { source, options, run }: Recorded,
  runtime: InferenceRuntime,
): Promise<number> {
  if (!run) throw new Error('the original was not run');
  const names = Object.keys(run.outputs);
  const outputs = await outputsOf(draft, names, { source, options, run }, runtime);
  return Math.max(...names.map((name) => shareOfDifference(run.outputs[name], outputs[name])));
}

/** ONNX Runtime computes most nodes in float32 on a CPU, where only a value that it returns is rounded: an overflow must not hide there. */
async function checkValues(
  check: string,
  names: readonly string[],
  recorded: Omit<Recorded, 'isClosed'>,
  runtime: InferenceRuntime,
): Promise<void> {
  const bad = badValue(await outputsOf(check, names, recorded, runtime));
  if (bad !== undefined) throw new Error(`its value ${bad} is not finite in half precision`);
}

async function outputsOf(
  path: string,
  names: readonly string[],
  { source, options, run }: Omit<Recorded, 'isClosed'>,
  runtime: InferenceRuntime,
): Promise<Record<string, Tensor>> {
  const rewired = source.bytes ? rewireTimestep(path) : undefined;
  if (rewired && rewired.outcome !== 'rewired') throw new Error('its timestep cannot be rewired');
  const session = await runtime.load({ path, ...(rewired && { bytes: rewired.bytes }) }, options);
  try {
    return await session.run(run?.feeds ?? {}, names);
  } finally {
    await session.close();
  }
}
