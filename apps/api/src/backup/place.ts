/** Where backups are: below a prefix of a bucket, or in a folder. */
import { resolve } from 'node:path';
import { LehrError } from '@lehr/shared';
import { NO_LINKS, type ObjectStore, openObjectStore } from '@lehr/shared/objects';

export interface BackupPlace {
  readonly store: ObjectStore;
  /** Of all keys, with the namespace; ends in a slash. */
  readonly prefix: string;
  /** As the operator wrote it. */
  readonly name: string;
}

export interface PlaceSettings {
  readonly region: string;
  readonly endpoint: string | undefined;
  readonly namespace: string;
}

const S3 = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/([A-Za-z0-9._/-]*))?$/;
/** A part of the dump, on a slow line. */
const REQUEST_TIMEOUT_MS = 120_000;

/** `where` is `s3://bucket/prefix`, or the path of a folder. Throws `invalid-request` for any other text. */
export async function openPlace(where: string, settings: PlaceSettings): Promise<BackupPlace> {
  const { region, endpoint, namespace } = settings;
  if (!where.includes('://')) {
    const store = await openObjectStore({ kind: 'folder', root: resolve(where), ...NO_LINKS });
    return { store, prefix: `${namespace}/`, name: where };
  }
  const [, bucket, path = ''] = S3.exec(where) ?? [];
  const segments = path.split('/').filter((each) => each !== '');
  if (bucket === undefined || segments.some((each) => each === '.' || each === '..')) {
    throw new LehrError(
      'invalid-request',
      `${JSON.stringify(where)} is neither s3://bucket/prefix nor a folder`,
    );
  }
  const store = await openObjectStore({
    kind: 's3',
    bucket,
    region,
    requestTimeoutMs: REQUEST_TIMEOUT_MS,
    ...(endpoint !== undefined && { endpoint }),
  });
  return { store, prefix: `${[...segments, namespace].join('/')}/`, name: where };
}
