import { createHash } from 'node:crypto';
import type { Manifest } from './manifest.ts';
import type { Listing, RemoteFile } from './remote.ts';

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
