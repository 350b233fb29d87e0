/** Writes graphs of a folder again beside the originals, as a variant of the model that is used only where a setting names it. */
import { existsSync } from 'node:fs';
import { readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { LehrError } from '@lehr/shared';
import { DRAFT_VARIANT } from '../../folder/files-state.ts';
import { keptFile } from '../../folder/prepared-manifest.ts';
import { type ConvertedManifest, convertedIn, removeConverted, writeConverted } from './manifest.ts';

export interface Conversion<Compared> {
  /** Paths of the graphs below the folder, without `.onnx`. */
  readonly graphs: readonly string[];
  readonly precision: ConvertedManifest['precision'];
  /** Writes the graph `from` to the file `to`; returns how many of its operators compute in the precision. */
  write(from: string, to: string): Promise<number>;
  /** Compares the drafts with the originals. Throws LehrError `model-unavailable` when they differ too much. */
  compare(): Promise<Compared>;
}

/** The suffix of the graphs' names, by precision. Optimum's exports have the same. */
export const VARIANTS: Readonly<Record<ConvertedManifest['precision'], string>> = {
  int8: '_quantized',
  fp16: '_fp16',
};

export interface ConvertedGraph {
  /** Below the folder. */
  readonly graph: string;
  readonly result: string;
  /** Operators that compute in the precision; of `int8` these are products. */
  readonly operators: number;
  /** Of the converted graph. */
  readonly bytes: number;
}

/**
 * Replaces what an earlier conversion made, once the new graphs are compared, and never another file. Throws LehrError `conflict` when the folder
 * has such a variant of its own, and what `write` and `compare` throw; the folder is as before then.
 */
export async function convertVariant<Compared extends Pick<ConvertedManifest, 'difference' | 'tolerance'>>(
  folder: string,
  { graphs: originals, precision, write, compare }: Conversion<Compared>,
): Promise<Compared & { readonly graphs: readonly ConvertedGraph[] }> {
  await removeDrafts(folder);
  const earlier = (await convertedIn(folder)) ?? [];
  const graphs = originals.map((name) => namesOf(folder, name, VARIANTS[precision], earlier));
  try {
    const made: ConvertedGraph[] = [];
    for (const { graph, draft, result } of graphs) {
      const operators = await write(join(folder, graph), join(folder, draft));
      const { size: bytes } = await stat(join(folder, draft));
      made.push({ graph, result, operators, bytes });
    }
    const compared = await compare();
    const { difference, tolerance } = compared;
    const kept = async (path: string, result = path) => ({ ...(await keptFile(folder, path)), path: result });
    const manifest: ConvertedManifest = {
      format: 1,
      made_at: new Date().toISOString(),
      precision,
      sources: await Promise.all(graphs.map(({ graph }) => kept(graph))),
      results: await Promise.all(graphs.map(({ draft, result }) => kept(draft, result))),
      difference,
      tolerance,
    };
    await removeConverted(folder);
    await writeConverted(folder, manifest);
    for (const { draft, result } of graphs) await rename(join(folder, draft), join(folder, result));
    return { ...compared, graphs: made };
  } finally {
    await removeDrafts(folder);
  }
}

/** Also removes what a conversion that was killed has left. Returns whether the folder was converted. */
export async function undoConversion(folder: string): Promise<boolean> {
  await removeDrafts(folder);
  return removeConverted(folder);
}

async function removeDrafts(folder: string): Promise<void> {
  for (const place of [folder, join(folder, 'onnx')]) {
    if (!(await stat(place).catch(() => undefined))?.isDirectory()) continue;
    for (const name of await readdir(place)) {
      if (name.endsWith(`${DRAFT_VARIANT}.onnx`)) await rm(join(place, name));
    }
  }
}

function namesOf(
  folder: string,
  name: string,
  variant: string,
  earlier: readonly string[],
): { readonly graph: string; readonly draft: string; readonly result: string } {
  const names = {
    graph: `${name}.onnx`,
    draft: `${name}${DRAFT_VARIANT}.onnx`,
    result: `${name}${variant}.onnx`,
  };
  const [original, result] = [join(folder, names.graph), join(folder, names.result)];
  if (!existsSync(original)) throw new LehrError('model-unavailable', `${original} is not there.`);
  if (existsSync(result) && !earlier.includes(names.result))
    throw new LehrError('conflict', `${result} is already there, and Lehr did not make it.`);
  return names;
}
