/**
 * Which graphs of a model folder `lehr models prepare --precision` made, in `.lehr-converted.json`. It is written before the graphs get
 * their names, so that no graph of Lehr is ever without an entry.
 */
import { existsSync } from 'node:fs';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { LehrError } from '@lehr/shared';
import { z } from 'zod';
import { FileSchema, isUnchanged } from '../prepared/manifest.ts';

export const CONVERTED_MANIFEST = '.lehr-converted.json';

const ManifestSchema = z.strictObject({
  format: z.literal(1),
  made_at: z.string(),
  precision: z.literal('int8'),
  /** The graphs that were converted. */
  sources: z.array(FileSchema).min(1),
  results: z.array(FileSchema).min(1),
  /** The largest difference of logits, as a share of the largest logit. */
  difference: z.number(),
  tolerance: z.number(),
});
/** Of a copy of a model for pictures: its results have the names of their sources, and there is nothing to go back to. */
const HalfManifestSchema = z.strictObject({
  format: z.literal(1),
  made_at: z.string(),
  precision: z.literal('fp16'),
  /** As they were in the original folder. */
  sources: z.array(FileSchema).min(1),
  results: z.array(FileSchema).min(1),
  /** The largest difference of one graph's outputs, as a share of its largest output. */
  difference: z.number(),
  tolerance: z.number(),
});
export type HalfManifest = z.output<typeof HalfManifestSchema>;
export type ConvertedManifest = z.output<typeof ManifestSchema>;

export async function writeConverted(
  folder: string,
  manifest: ConvertedManifest | HalfManifest,
): Promise<void> {
  const draft = join(folder, `${CONVERTED_MANIFEST}.tmp`);
  await writeFile(draft, `${JSON.stringify(manifest, undefined, 2)}\n`);
  await rename(draft, join(folder, CONVERTED_MANIFEST));
}

/** Whether `lehr models prepare --precision fp16` made this folder. */
export async function isHalfCopy(folder: string): Promise<boolean> {
  const text = await readFile(join(folder, CONVERTED_MANIFEST), 'utf8').catch(() => '');
  return HalfManifestSchema.safeParse(parsed(text)).success;
}

/**
 * Removes the graphs that Lehr made beside their originals, and no other file: one that was changed since stays. Returns whether there
 * were such. Throws LehrError `conflict` when the manifest cannot be read.
 */
export async function removeConverted(folder: string): Promise<boolean> {
  const path = join(folder, CONVERTED_MANIFEST);
  await rm(`${path}.tmp`, { force: true });
  if (!existsSync(path) || (await isHalfCopy(folder))) return false;
  const text = await readFile(path, 'utf8');
  const manifest = ManifestSchema.safeParse(parsed(text)).data;
  if (!manifest) throw new LehrError('conflict', `${path} is not a manifest of this version of Lehr.`);
  for (const result of manifest.results) {
    if (await isUnchanged(folder, result)) await rm(join(folder, result.path));
  }
  await rm(path);
  return true;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
