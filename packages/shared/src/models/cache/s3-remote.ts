/** A prefix of an S3 bucket. */
import { openS3Folder, type S3FolderOptions } from '../../objects/s3-folder.ts';
import { listingOf, listingOfFiles, MANIFEST, parseManifest } from './manifest.ts';
import type { Remote } from './remote.ts';
import type { ModelSource } from './source.ts';

export type S3RemoteOptions = Pick<S3FolderOptions, 'region' | 'endpoint'>;

export function s3Remote(
  { bucket, prefix }: Extract<ModelSource, { kind: 's3' }>,
  options: S3RemoteOptions,
): Remote {
  const folder = openS3Folder({ ...options, bucket, prefix });
  return {
    list: async (signal, only) => {
      const objects = await folder.list(signal, only);
      if (objects.some(({ path }) => path === MANIFEST)) {
        const manifest = parseManifest(await folder.text(MANIFEST, signal));
        if (manifest) return listingOf(manifest);
      }
      return listingOfFiles(
        objects.map(({ path, bytes }) => ({ path, bytes })),
        objects.map(({ etag }) => etag),
      );
    },
    open: async (file, offset, _listing, signal) => ({
      offset,
      body: await folder.read(file.path, offset, signal),
    }),
  };
}
