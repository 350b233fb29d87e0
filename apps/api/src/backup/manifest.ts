/** The description of a backup. It is stored last, so a backup without one is not complete and is never restored. */
import { LehrError, type ObjectKey, toObjectKey } from '@lehr/shared';
import { z } from 'zod';
import type { BackupPlace } from './place.ts';

export const MANIFEST_FORMAT = 1;
const MANIFEST = 'manifest.json';
const MAX_MANIFEST_BYTES = 4_000_000;
const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const count = z.int().nonnegative();

const ManifestSchema = z.object({
  format: z.literal(MANIFEST_FORMAT),
  id: z.string(),
  /** The version of Lehr that made it. */
  lehr: z.string(),
  /** The SCHEMA_VERSION that reads all of it; that of the program for a dump that another program made. */
  schema: count,
  namespace: z.string(),
  redis_version: z.string(),
  /** By the clock of Redis, or of this machine for a dump that another program made. */
  taken_at: z.iso.datetime(),
  /** Of the whole dump, with all that shares the server. */
  keys: count,
  /** Read just before the dump was taken; null for a dump that another program made. */
  unfinished_jobs: count.nullable(),
  bytes: count,
  sha256,
  parts: z.array(z.object({ name: z.string().regex(/^part-\d{5}$/), bytes: count, sha256 })).min(1),
});
export type Manifest = z.output<typeof ManifestSchema>;

/** What is shown of a backup. */
const ListedSchema = ManifestSchema.pick({
  id: true,
  taken_at: true,
  lehr: true,
  schema: true,
  keys: true,
  unfinished_jobs: true,
  bytes: true,
});
export type ListedBackup = z.output<typeof ListedSchema>;
export const listed = (manifest: Manifest): ListedBackup => ListedSchema.parse(manifest);

export const keyOf = (place: BackupPlace, id: string, name: string): ObjectKey =>
  toObjectKey(`${place.prefix}${id}/${name}`);

export async function storeManifest(place: BackupPlace, manifest: Manifest): Promise<void> {
  const body = Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`);
  await place.store.put(keyOf(place, manifest.id, MANIFEST), body, { contentType: 'application/json' });
}

/** Throws `not-found` when there is none, and `conflict` when it cannot be read. */
export async function readManifest(place: BackupPlace, id: string): Promise<Manifest> {
  const object = await place.store.get(keyOf(place, id, MANIFEST));
  if (!object) throw new LehrError('not-found', `there is no complete backup ${id} in ${place.name}`);
  if (object.bytes > MAX_MANIFEST_BYTES) {
    await object.body.cancel();
    throw new LehrError('conflict', `the manifest of backup ${id} has ${object.bytes} bytes; it is damaged`);
  }
  const text = await new Response(object.body).text();
  const manifest = parsed(text);
  if (manifest?.id !== id) {
    const made = /"lehr":\s*"([^"]{1,40})"/.exec(text)?.[1] ?? 'another version';
    throw new LehrError(
      'conflict',
      `the manifest of backup ${id} cannot be read by this version of Lehr; it was made by ${made}`,
    );
  }
  return manifest;
}

function parsed(text: string): Manifest | undefined {
  try {
    return ManifestSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** The ids of all complete backups, oldest first. */
export async function backupIds({ store, prefix }: BackupPlace): Promise<string[]> {
  const ids: string[] = [];
  for await (const key of store.list(prefix)) {
    const [id, name, ...rest] = key.slice(prefix.length).split('/');
    if (name === MANIFEST && rest.length === 0) ids.push(id);
  }
  return ids.sort();
}
