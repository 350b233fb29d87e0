/**
 * `lehr models import`: makes the folder of a model from that of another one with the same graphs, and from a file of weights. What stays as it
 * is, is shared with the base as hard links; what the file has is written.
 */
import { copyFile, link, mkdir, open, readdir, realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { openFileSource } from '@lehr/onnx-model';
import { FETCHED_MANIFEST } from '../../folder/files-state.ts';
import { weightFiles } from '../../runtime/external-data.ts';
import { ValuesError, valuesOf } from '../weights/weight-values.ts';
import { refusedFile, type WeightsFile } from '../weights/weights-file.ts';
import type { Base, GraphPlan, ImportPlan } from './plan-import.ts';
import { type ValuesOf, writeGraph } from './write-graph.ts';

export interface ImportedGraph {
  /** Below the folder. */
  readonly graph: string;
  /** `equal`: the file has what the base has. `kept`: it has nothing for this graph. `left-out`: its integers cannot take them. */
  readonly weights: 'written' | 'equal' | 'kept' | 'left-out';
}

export interface ImportTarget {
  readonly base: Base;
  readonly plan: Pick<ImportPlan, 'graphs'>;
  readonly valuesOf: ValuesOf;
  /** An empty folder. */
  readonly folder: string;
  readonly onProgress: (doneBytes: number) => void;
}

/** The files of a model, below its folder: without hidden ones, and without the list of a fetched folder, which would not be true. */
export async function filesOfModel(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => !entry.isDirectory())
    .map(({ parentPath, name }) => join(parentPath, name).slice(folder.length + 1))
    .filter((path) => path !== FETCHED_MANIFEST && !path.split('/').some((part) => part.startsWith('.')))
    .sort();
}

/** Everything is on the disk when it resolves. Throws what `valuesOf` and the file system throw. */
export async function importFolder(
  target: ImportTarget,
): Promise<{ readonly graphs: readonly ImportedGraph[]; readonly bytes: number }> {
  const { base, plan, folder } = target;
  const ofGraphs = new Set(plan.graphs.flatMap(({ graph, data }) => [graph, ...data]));
  for (const path of await filesOfModel(base.folder)) if (!ofGraphs.has(path)) await share(target, path);
  const graphs: ImportedGraph[] = [];
  const counted = { bytes: 0, done: 0 };
  for (const each of plan.graphs) graphs.push(await importGraph(target, each, counted));
  for (const path of [
    '',
    ...(await readdir(folder, { recursive: true, withFileTypes: true }))
      .filter((entry) => entry.isDirectory())
      .map(({ parentPath, name }) => join(parentPath, name).slice(folder.length + 1)),
  ])
    await syncFolder(join(folder, path));
  return { graphs, bytes: counted.bytes };
}

async function importGraph(
  target: ImportTarget,
  { graph, stored, data, filled, isQuantized }: GraphPlan,
  counted: { bytes: number; done: number },
): Promise<ImportedGraph> {
  if (isQuantized) return { graph, weights: 'left-out' };
  const path = join(target.folder, graph);
  await mkdir(dirname(path), { recursive: true });
  const base = join(target.base.folder, graph);
  const source = openFileSource(base);
  try {
    const bytes =
      filled.length > 0 &&
      (await writeGraph({ base, stored, source, filled, valuesOf: target.valuesOf }, path, (written) => {
        counted.done += written;
        target.onProgress(counted.done);
      }));
    if (bytes) {
      counted.bytes += bytes;
      const needed = new Set(weightFiles({ path }).map((name) => join(graph, '..', name)));
      for (const each of data) if (needed.has(each)) await share(target, each);
      return { graph, weights: 'written' };
    }
  } finally {
    source.close();
  }
  for (const each of [graph, ...data]) await share(target, each);
  return { graph, weights: filled.length > 0 ? 'equal' : 'kept' };
}

/** The values of a file. They throw LehrError `invalid-request` where the file has bad ones. */
export const valuesIn =
  ({ path, source }: WeightsFile): ValuesOf =>
  ({ place, weight, isTransposed }) => {
    try {
      return valuesOf({ source, weight, isTransposed }, place.stored.tensor.dataType ?? 0);
    } catch (error) {
      throw error instanceof ValuesError ? refusedFile(path, error.message) : error;
    }
  };

/** On another file system, and where the base belongs to someone else, it is copied. */
async function share({ base, folder }: ImportTarget, path: string): Promise<void> {
  const to = join(folder, path);
  await mkdir(dirname(to), { recursive: true });
  // Not a link to a link: a folder of links, as a hub's cache has, may lead to them by relative paths.
  const from = await realpath(join(base.folder, path));
  await link(from, to).catch(async (error: NodeJS.ErrnoException) => {
    if (error.code === 'EEXIST') return;
    if (!['EXDEV', 'EPERM', 'EMLINK', 'ENOTSUP'].includes(error.code ?? '')) throw error;
    await copyFile(from, to);
    await syncFolder(to);
  });
}

/** Also for a file. */
export async function syncFolder(path: string): Promise<void> {
  const handle = await open(path, 'r');
  await handle.sync();
  await handle.close();
}
