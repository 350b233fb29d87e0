import { unreachable } from '../base/errors.ts';
import { type FolderStoreOptions, openFolderStore } from './folder.ts';
import type { S3StoreOptions } from './s3-client.ts';
import type { ObjectStore } from './store.ts';

export type ObjectStoreOptions =
  | ({ readonly kind: 'folder' } & FolderStoreOptions)
  | ({ readonly kind: 's3' } & S3StoreOptions);

/** Rejects with `storage-failed` when the folder of a folder store cannot be used; an S3 store connects only later. */
export async function openObjectStore(options: ObjectStoreOptions): Promise<ObjectStore> {
  switch (options.kind) {
    case 'folder':
      return openFolderStore(options);
    case 's3': {
      // Loaded only here, because the SDK costs 0.1 s and 25 MB that a folder store does not need.
      const { openS3Store } = await import('./s3.ts');
      return openS3Store(options);
    }
    default:
      return unreachable(options);
  }
}
