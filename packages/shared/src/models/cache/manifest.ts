/**
 * `lehr-model.json` in a fetched folder: its files with their digests, and where they came from. Written last, so a folder
 * with it is complete.
 */
import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { TASKS } from '../../contracts/group.ts';
import type { Listing, RemoteFile } from './remote.ts';

export const MANIFEST = 'lehr-model.json';

const ManifestSchema = z.object({
  schema: z.literal(1),
  source: z.string(),
  /** The commit, or a digest of the list of files. */
  revision: z.string(),
  variant: z.string().optional(),
  task: z.enum(TASKS),
  fetched_at: z.string(),
  files: z
    .array(
      z.object({
        path: z.string(),
        bytes: z.int().nonnegative(),
        sha256: z.string().regex(/^[0-9a-f]{64}$/),
      }),
    )
    .min(1),
});
export type Manifest = z.output<typeof ManifestSchema>;

/** Undefined when the text is not a manifest. */
export function parseManifest(text: string): Manifest | undefined {
  try {
    return ManifestSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** Undefined when the folder has none. */
export async function readManifest(folder: string): Promise<Manifest | undefined> {
  const text = await readFile(join(folder, MANIFEST), 'utf8').catch(() => undefined);
  return text === undefined ? undefined : parseManifest(text);
}

export const writeManifest = (folder: string, manifest: Manifest): Promise<void> =>
  writeFile(join(folder, MANIFEST), `${JSON.stringify(manifest, undefined, 2)}\n`);

/** The files of a manifest, in place of a list of the source. */
export const listingOf = ({ files }: Manifest): Listing =>
  listingOfFiles(
    files.map(({ path, bytes, sha256 }) => ({ path, bytes, digest: { kind: 'sha256', hex: sha256 } })),
  );

/** Its revision is a digest of the list. `tags` says more about the state of each file, such as its ETag. */
export function listingOfFiles(files: readonly RemoteFile[], tags: readonly string[] = []): Listing {
  const lines = files.map(
    ({ path, bytes, digest }, i) => `${path} ${bytes} ${digest?.hex ?? ''} ${tags[i] ?? ''}`,
  );
  const revision = createHash('sha256').update(lines.sort().join('\n')).digest('hex');
  return { revision, files };
}
