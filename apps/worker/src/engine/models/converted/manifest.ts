/**
 * Which graphs of a model folder `lehr models prepare --precision` made, in `.lehr-converted.json`. It is written before the graphs get
 * their names, so that no graph of Lehr is ever without an entry.
 */
import { existsSync } from 'node:fs';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { LehrError } from '@lehr/shared';
import { z } from 'zod';
import { FileSchema, isUnchanged } from '../../folder/prepared-manifest.ts';

export const CONVERTED_MANIFEST = '.lehr-converted.json';

const ManifestSchema = z.strictObject({
  format: z.literal(1),
  made_at: z.string(),
  /** In a copy of a model for pictures the results have the names of their sources, and there is nothing to go back to. */
  precision: z.enum(['int8', 'fp16']),
  /** The graphs that were converted, with the files of their weights; for a copy as they were in the original folder. */
  sources: z.array(FileSchema).min(1),
  results: z.array(FileSchema).min(1),
  /** The largest difference from the original; what it is of depends on the task. */
  difference: z.number(),
  tolerance: z.number(),
});
export type ConvertedManifest = z.output<typeof ManifestSchema>;

export async function writeConverted(folder: string, manifest: ConvertedManifest): Promise<void> {
  const draft = join(folder, `${CONVERTED_MANIFEST}.tmp`);
  await writeFile(draft, `${JSON.stringify(manifest, undefined, 2)}\n`);
  await rename(draft, join(folder, CONVERTED_MANIFEST));
}

/** Whether `lehr models prepare --precision fp16` made this folder. */
export async function isHalfCopy(folder: string): Promise<boolean> {
  const manifest = await readConverted(folder);
  return manifest !== undefined && isCopy(manifest);
}

const isCopy = ({ sources, results }: ConvertedManifest): boolean =>
  results.some((result) => sources.some(({ path }) => path === result.path));

/**
 * Removes the graphs that Lehr made beside their originals, and no other file: one that was changed since stays. Returns whether there
 * were such. Throws LehrError `conflict` when the manifest cannot be read.
 */
export async function removeConverted(folder: string): Promise<boolean> {
  const path = join(folder, CONVERTED_MANIFEST);
  await rm(`${path}.tmp`, { force: true });
  const results = await convertedIn(folder);
  if (!results) return false;
  for (const result of results) await rm(join(folder, result));
  await rm(path);
  return true;
}

/**
 * The paths of the graphs that Lehr made beside their originals, without those that were changed since. Undefined when it made none. Throws as
 * removeConverted does.
 */
export async function convertedIn(folder: string): Promise<readonly string[] | undefined> {
  const path = join(folder, CONVERTED_MANIFEST);
  if (!existsSync(path)) return undefined;
  const manifest = await readConverted(folder);
  if (!manifest) throw new LehrError('conflict', `${path} is not a manifest of this version of Lehr.`);
  if (isCopy(manifest)) return undefined;
  const own: string[] = [];
  for (const result of manifest.results) if (await isUnchanged(folder, result)) own.push(result.path);
  return own;
}

/** Undefined when there is none, or none that this version can read. */
async function readConverted(folder: string): Promise<ConvertedManifest | undefined> {
  const text = await readFile(join(folder, CONVERTED_MANIFEST), 'utf8').catch(() => '');
  try {
    return ManifestSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
