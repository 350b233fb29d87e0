import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { LehrError } from '@lehr/shared';
import type {
  GraphReport,
  GraphSource,
  InferenceRuntime,
  LoadOptions,
  RuntimeSession,
} from '../runtime/runtime.ts';
import { filesState, refuseChanged } from './files-state.ts';
import {
  isUnchanged,
  type PreparedGraph,
  type PreparedManifest,
  processor,
  readManifest,
} from './prepared-manifest.ts';

/**
 * Opens a model of several sessions completely or not at all: when `open` fails, the sessions it has loaded are closed.
 * The returned `close` closes all of them. It also fails, with LehrError `model-unavailable`, when a file of the folder changed meanwhile:
 * the header of a rewritten graph would then be of one file, and its weights of another.
 */
export async function openWhole<Parts extends object>(
  folder: string,
  runtime: InferenceRuntime,
  open: (runtime: InferenceRuntime) => Promise<Parts>,
): Promise<Parts & { close(): Promise<void> }> {
  const sessions: RuntimeSession[] = [];
  const close = async (): Promise<void> => {
    for (const session of sessions) await session.close();
  };
  try {
    const before = await filesState(folder);
    const prepared = await preparedRuntime(folder, runtime);
    const tracked: InferenceRuntime = {
      ...prepared,
      async load(graph, options) {
        const session = await prepared.load(graph, options);
        sessions.push(session);
        return session;
      },
    };
    const parts = await open(tracked);
    await refuseChanged(folder, before);
    return { ...parts, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/**
 * Prepares an open model for its first job, such as by a warm-up. When that fails, the model is closed: it is tried again later,
 * and its sessions would hold the memory of the device until then.
 */
export async function closeOnFailure<T>(
  model: { close(): Promise<void> },
  prepare: () => Promise<T>,
): Promise<T> {
  try {
    return await prepare();
  } catch (error) {
    await model.close();
    throw error;
  }
}

/**
 * Loads what `lehr models prepare` has kept in place of the originals, where it fits this machine; otherwise the originals.
 *
 * The same runtime where nothing is prepared, or a file of the model is not the one that was prepared.
 */
async function preparedRuntime(folder: string, runtime: InferenceRuntime): Promise<InferenceRuntime> {
  // A simulated device runs no graph.
  const manifest = runtime.version === undefined ? undefined : await readManifest(folder);
  if (!manifest || !(await allUnchanged(folder, manifest.sources))) return runtime;
  const graphOf = (path: string): PreparedGraph | undefined =>
    manifest.graphs.find(({ graph }) => graph === relative(folder, path));
  return {
    ...runtime,
    async load(source, options) {
      const prepared = await optimizedOf(folder, manifest, graphOf(source.path), source, options, runtime);
      if (!prepared) return runtime.load(source, options);
      // A file that does not load is no reason to refuse the model.
      return prepared().catch(() => runtime.load(source, options));
    },
    async rewired(path) {
      const kept = graphOf(path)?.rewired;
      if (!kept) return undefined;
      const bytes = await readFile(join(folder, kept.path)).catch(() => undefined);
      return bytes && digestOf(bytes) === kept.sha256 ? bytes : undefined;
    },
  };
}

async function allUnchanged(folder: string, files: PreparedManifest['sources']): Promise<boolean> {
  for (const file of files) if (!(await isUnchanged(folder, file))) return false;
  return true;
}

async function optimizedOf(
  folder: string,
  manifest: PreparedManifest,
  graph: PreparedGraph | undefined,
  { path, bytes }: GraphSource,
  options: LoadOptions,
  runtime: InferenceRuntime,
): Promise<(() => Promise<RuntimeSession>) | undefined> {
  const { device, optimization } = manifest;
  if (!graph?.optimized || options.providers[0] !== device) return undefined;
  if ((options.optimization ?? 'all') !== optimization) return undefined;
  if (manifest.onnxruntime !== runtime.version || manifest.processor !== processor()) return undefined;
  if (graph.rewired?.sha256 !== (bytes && digestOf(bytes))) return undefined;
  if (!(await allUnchanged(folder, graph.optimized))) return undefined;
  const source: GraphSource = {
    path: join(folder, graph.optimized[0].path),
    prepared: { from: path, isRewired: bytes !== undefined },
  };
  return () => runtime.load(source, { ...options, providers: [device], optimization: 'disabled' });
}

const digestOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** To be made after the session's first run: its placement is not known before. */
export const reportOf = (
  graph: string,
  { provider, placement, refusals, isPrepared, fusion }: RuntimeSession,
): GraphReport => ({
  graph,
  provider,
  ...(placement && { placement }),
  ...(refusals.length > 0 && { refusals }),
  ...(isPrepared && { prepared: true as const }),
  ...(fusion && { fusion }),
});

/**
 * The graph of a model that has one, in both layouts of Optimum's exports: `model.onnx` with the variant's suffix, in the folder or below `onnx/`.
 * Throws LehrError `model-unavailable` for what is no suffix.
 */
export function graphPath(folder: string, variant = ''): string {
  // The variant becomes part of a file name.
  if (!/^(_[a-z0-9_]{1,32})?$/.test(variant)) {
    throw new LehrError(
      'model-unavailable',
      `The variant ${JSON.stringify(variant)} is not a suffix of a graph's name such as _fp16.`,
    );
  }
  const name = `model${variant}.onnx`;
  return existsSync(join(folder, name)) ? join(folder, name) : join(folder, 'onnx', name);
}
