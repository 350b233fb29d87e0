/** Finding old objects of a bucket, and deleting many at once. */
import {
  DeleteObjectCommand,
  DeleteObjectsCommand,
  ListObjectsV2Command,
  type S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3';
import type { ObjectKey } from '../base/ids.ts';
import { afterYoungerThan, DATED_PREFIXES, madeAt } from './made-at.ts';
import { storageFailed } from './s3-client.ts';
import { asObjectKey } from './store.ts';

/** The most that S3 takes or returns at once. */
const PAGE = 1000;
/** The answers of servers that know no DeleteObjects, or want the header Content-MD5 with it. */
const NO_BULK = new Set([400, 405, 411, 501]);
const PARALLEL_DELETES = 8;

/**
 * The outputs and uploads that were made before this time (unix ms), in pages. S3 lists keys in order, and below a tenant that is the
 * order of their times. So a page that ends in a younger key is followed by one that starts behind all jobs, or files, of
 * this tenant. (A bucket without this order, such as a directory bucket of S3, would keep some old objects.)
 */
export async function* pagesMadeBefore(
  client: S3Client,
  bucket: string,
  before: number,
): AsyncIterable<readonly ObjectKey[]> {
  for (const prefix of DATED_PREFIXES) {
    let after: string | undefined;
    do {
      const command = new ListObjectsV2Command({
        Bucket: bucket,
        Prefix: prefix,
        StartAfter: after,
        MaxKeys: PAGE,
      });
      const { Contents = [], IsTruncated } = await client.send(command).catch((error: unknown) => {
        throw storageFailed(`Could not list ${prefix}`, error);
      });
      const keys = Contents.map(({ Key = '' }) => Key);
      const old = keys.filter((key) => (madeAt(key) ?? before) < before);
      if (old.length > 0) yield old.flatMap((key) => asObjectKey(key) ?? []);
      const last = keys.at(-1);
      after = last === undefined || !IsTruncated ? undefined : startAfter(last, before);
    } while (after !== undefined);
  }
}

function startAfter(last: string, before: number): string {
  const at = madeAt(last);
  return at === undefined || at < before ? last : afterYoungerThan(last);
}

/** Deletes all that it can, and then rejects with the first failure. */
export async function removeMany(
  client: S3Client,
  bucket: string,
  keys: readonly ObjectKey[],
): Promise<void> {
  const failures: unknown[] = [];
  for (let i = 0; i < keys.length; i += PAGE) {
    const slice = keys.slice(i, i + PAGE);
    try {
      failures.push(...(await removeSlice(client, bucket, slice)));
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw storageFailed('Could not delete objects', failures[0]);
}

async function removeSlice(client: S3Client, bucket: string, keys: readonly ObjectKey[]): Promise<Error[]> {
  const Objects = keys.map((Key) => ({ Key }));
  try {
    const command = new DeleteObjectsCommand({ Bucket: bucket, Delete: { Objects, Quiet: true } });
    const { Errors = [] } = await client.send(command);
    return Errors.filter(({ Code }) => Code !== 'NoSuchKey').map(({ Code }) => new Error(`${Code}.`));
  } catch (error) {
    if (!(error instanceof S3ServiceException) || !NO_BULK.has(error.$metadata.httpStatusCode ?? 0))
      throw error;
    return removeSingly(client, bucket, keys);
  }
}

async function removeSingly(client: S3Client, bucket: string, keys: readonly ObjectKey[]): Promise<Error[]> {
  const left = keys.values();
  const failures: Error[] = [];
  const work = async () => {
    for (const Key of left) {
      const command = new DeleteObjectCommand({ Bucket: bucket, Key });
      await client.send(command).catch((error: Error) => failures.push(error));
    }
  };
  await Promise.all(Array.from({ length: PARALLEL_DELETES }, work));
  return failures;
}
