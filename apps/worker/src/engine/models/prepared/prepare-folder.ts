/**
 * Makes what preparedRuntime loads: opens the model as a worker would but unfused, keeps each rewired graph, lets ONNX Runtime save each graph as it
 * optimised it, and compares the saved graph with the original on the inputs of the original's first run.
 */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { Task } from '@lehr/shared';
import { filesState } from '../../folder/files-state.ts';
import {
  keptFile,
  MANIFEST,
  PREPARED_FOLDER,
  type PreparedGraph,
  type PreparedManifest,
  processor,
} from '../../folder/prepared-manifest.ts';
import { largestShare, toleranceOf } from '../../runtime/agreement.ts';
import { readGraph } from '../../runtime/external-data.ts';
import type { InferenceRuntime, LoadOptions } from '../../runtime/runtime.ts';
import type { Tensor } from '../../runtime/tensor.ts';
import { type FolderOptions, openFolder } from '../open-folder.ts';
import { type Recorded, recording } from './recording.ts';

/** Throws what opening the folder throws. Returns what was kept; what an earlier preparation has kept stays when it throws. */
export async function prepareFolder(
  task: Task,
  folder: string,
  runtime: InferenceRuntime,
  options: FolderOptions,
): Promise<PreparedManifest> {
  const device = options.providers[0];
  const home = join(folder, PREPARED_FOLDER);
  const set = `${PREPARED_FOLDER}/${randomUUID()}`;
  await mkdir(join(folder, set), { recursive: true });
  let prepared: PreparedManifest;
  try {
    const sources: PreparedManifest['sources'] = [];
    for (const [path, state] of await filesState(folder)) {
      if (state !== 'folder' && state !== 'missing') sources.push(await keptFile(folder, path));
    }
    const graphs = await prepareGraphs(task, folder, set, runtime, { ...options, providers: [device] });
    const manifest: PreparedManifest = {
      format: 1,
      made_at: new Date().toISOString(),
      onnxruntime: runtime.version ?? 'unknown',
      device,
      processor: processor(),
      optimization: options.optimization ?? 'all',
      sources,
      graphs,
    };
    // In the set: what is left of a preparation that was killed goes with it.
    const draft = join(folder, set, MANIFEST);
    await writeFile(draft, `${JSON.stringify(manifest, undefined, 2)}\n`);
    await rename(draft, join(home, MANIFEST));
    prepared = manifest;
  } catch (error) {
    await rm(join(folder, set), { recursive: true, force: true });
    throw error;
  }
  await removeOthers(folder, set);
  return prepared;
}

/** The manifest goes first, so that a kill in between leaves no half of a prepared folder. Returns whether there was one. */
export async function unprepareFolder(folder: string): Promise<boolean> {
  const home = join(folder, PREPARED_FOLDER);
  const wasPrepared = existsSync(join(home, MANIFEST));
  await rm(join(home, MANIFEST), { force: true });
  await rm(home, { recursive: true, force: true });
  return wasPrepared;
}

/** Also what a preparation that was killed has left. */
async function removeOthers(folder: string, set: string): Promise<void> {
  for (const entry of await readdir(join(folder, PREPARED_FOLDER), { withFileTypes: true })) {
    const path = `${PREPARED_FOLDER}/${entry.name}`;
    if (entry.isDirectory() && path !== set) await rm(join(folder, path), { recursive: true, force: true });
  }
}

async function prepareGraphs(
  task: Task,
  folder: string,
  set: string,
  runtime: InferenceRuntime,
  options: FolderOptions,
): Promise<PreparedGraph[]> {
  const recorded: Recorded[] = [];
  const opened = await openFolder(task, folder, recording(runtime, recorded), options);
  // A graph that was tried in a form that did not work was closed again.
  const used = recorded.filter(({ isClosed }) => !isClosed);
  const graphs: PreparedGraph[] = [];
  try {
    for (const [index, each] of used.entries()) {
      graphs.push(await prepareGraph(folder, `${set}/${index}`, each, runtime));
    }
  } finally {
    await opened.close();
  }
  return graphs;
}

async function prepareGraph(
  folder: string,
  name: string,
  { source, options, run }: Recorded,
  runtime: InferenceRuntime,
): Promise<PreparedGraph> {
  const graph = relative(folder, source.path);
  let prepared: PreparedGraph = { graph };
  if (source.bytes) {
    await writeFile(join(folder, `${name}.rewired.onnx`), source.bytes);
    prepared = { ...prepared, rewired: await keptFile(folder, `${name}.rewired.onnx`) };
  }
  const path = `${name}.onnx`;
  const saving = await runtime
    .load(source, { ...options, saveOptimized: join(folder, path) })
    .catch(() => undefined);
  await saving?.close();
  // Providers that compile a graph cannot save it.
  if (!saving || !run || !existsSync(join(folder, path))) return prepared;
  // ONNX Runtime cannot load each graph that it has saved, such as a rewired merged decoder, whose If repeats a name.
  const outputs = await outputsOf(join(folder, path), run, options, runtime).catch(() => undefined);
  if (!outputs) return prepared;
  const difference = largestShare(run.outputs, outputs);
  const tolerance = toleranceOf(options.providers[0], readGraph(source));
  if (!(difference <= tolerance)) return { ...prepared, difference, tolerance };
  const files = [path, `${path}.data`].filter((each) => existsSync(join(folder, each)));
  const optimized = await Promise.all(files.map((each) => keptFile(folder, each)));
  return { ...prepared, optimized, difference, tolerance };
}

async function outputsOf(
  path: string,
  run: NonNullable<Recorded['run']>,
  options: LoadOptions,
  runtime: InferenceRuntime,
): Promise<Record<string, Tensor>> {
  const session = await runtime.load({ path }, { ...options, optimization: 'disabled' });
  try {
    return await session.run(run.feeds, Object.keys(run.outputs));
  } finally {
    await session.close();
  }
}
