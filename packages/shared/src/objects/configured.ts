/** The object store that the variables of a process name. */
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { unreachable } from '../base/errors.ts';
import { objectsFolder } from '../base/home.ts';
import { type FolderStoreOptions, openFolderStore } from './folder.ts';
import type { S3StoreOptions } from './s3-client.ts';
import type { ObjectStore } from './store.ts';

interface StoreVariables {
  readonly LEHR_HOME: string;
  readonly LEHR_S3_BUCKET?: string | undefined;
  readonly AWS_REGION: string;
  readonly AWS_ENDPOINT_URL_S3?: string | undefined;
  readonly LEHR_S3_PUBLIC_ENDPOINT?: string | undefined;
}

/** For a program that signs no links. */
export const NO_LINKS = { publicUrl: 'http://127.0.0.1', linkSecret: 'x'.repeat(32) };

export function openConfiguredStore(
  variables: StoreVariables,
  links: Pick<FolderStoreOptions, 'publicUrl' | 'linkSecret'> = NO_LINKS,
): Promise<ObjectStore> {
  const { LEHR_S3_BUCKET: bucket, AWS_ENDPOINT_URL_S3: endpoint } = variables;
  const { LEHR_S3_PUBLIC_ENDPOINT: publicEndpoint } = variables;
  if (bucket === undefined) {
    return openObjectStore({ kind: 'folder', root: objectsFolder(variables.LEHR_HOME), ...links });
  }
  return openObjectStore({
    kind: 's3',
    bucket,
    region: variables.AWS_REGION,
    ...(endpoint !== undefined && { endpoint }),
    ...(publicEndpoint !== undefined && { publicEndpoint }),
  });
}

/** For people: where the store is. */
export function storePlace({ LEHR_HOME, LEHR_S3_BUCKET, AWS_ENDPOINT_URL_S3 }: StoreVariables): string {
  if (LEHR_S3_BUCKET === undefined) return `the folder ${resolve(objectsFolder(LEHR_HOME))} of ${hostname()}`;
  return `the bucket ${LEHR_S3_BUCKET}${AWS_ENDPOINT_URL_S3 === undefined ? '' : ` at ${AWS_ENDPOINT_URL_S3}`}`;
}

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
