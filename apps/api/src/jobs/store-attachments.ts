/** Stores what was sent inside a request, below the prefix of its job: all of it, or none. */
import { type Clock, inputFolder, type JobId, LehrError, toLehrError, toObjectKey } from '@lehr/shared';
import type { ObjectStore } from '@lehr/shared/objects';
import type { Admitter, PricedJob } from '@lehr/shared/queue';
import type { Caller } from '../access/auth/authenticator.ts';
import type { RequestIdentity } from './identity.ts';
import type { Attachment } from './media-input.ts';
import type { RecordSpace } from './space/record-space.ts';
import type { StorageQuota } from './space/storage-quota.ts';

export interface AttachmentParts {
  readonly clock: Clock;
  readonly admitter: Admitter;
  readonly store: ObjectStore;
  readonly storage: StorageQuota;
  readonly recordSpace: RecordSpace;
}

/**
 * Throws QuotaError or `overloaded` when the record or the attachments do not fit, before the request takes a place in the queue. A
 * request whose job an earlier one may have made is not refused here, because it may store nothing.
 */
export async function checkSpace(
  { admitter, storage, recordSpace }: Omit<AttachmentParts, 'store' | 'clock'>,
  caller: Caller,
  attachments: readonly Attachment[],
  identity: RequestIdentity = {},
): Promise<void> {
  try {
    await recordSpace.check(caller.tenant);
    if (attachments.length > 0) await storage.check(caller, attachments.map(sizeOf));
  } catch (error) {
    const isRefusal = ['rate-limited', 'overloaded'].includes(toLehrError(error).code);
    if (isRefusal && (await admitter.isRepeat(identity))) return;
    throw error;
  }
}

/**
 * The job and its attachments under the id `id`: a request with the same Idempotency-Key was admitted under this id and made
 * no job. It may still be storing its attachments, so these do not take their keys.
 */
export function movedTo(
  id: JobId,
  job: PricedJob,
  attachments: readonly Attachment[],
): { readonly job: PricedJob; readonly attachments: readonly Attachment[] } {
  const { tenant, input, workflow } = job;
  const [from, to] = [inputFolder(tenant, job.id), `${inputFolder(tenant, id)}${job.id}/`];
  // No text of the caller contains the id of a job that is new.
  const moved = <T>(value: T): T => JSON.parse(JSON.stringify(value).replaceAll(from, to));
  return {
    job: { ...job, ...moved({ input, workflow }) },
    attachments: attachments.map((each) => ({ ...each, key: toObjectKey(each.key.replace(from, to)) })),
  };
}

/** How often a request that still stores its attachments renews its place. */
export const KEEP_PLACE_MS = 3_000;

/** The janitor takes an admitted job without a record for that of a dead process, and forgets its place and its Idempotency-Key. */
async function keepPlace(
  { admitter, clock }: Pick<AttachmentParts, 'admitter' | 'clock'>,
  id: JobId,
  stored: AbortSignal,
): Promise<void> {
  for (;;) {
    await clock.sleep(KEEP_PLACE_MS, stored);
    if (stored.aborted) return;
    // The next renewal is still in time.
    await admitter.renew(id).catch(() => {});
  }
}

/** Throws QuotaError, `gone` for a copy of what is no longer stored, or the error of the store; then nothing is stored or counted. */
export async function storeAttachments(
  parts: Omit<AttachmentParts, 'recordSpace'>,
  caller: Caller,
  id: JobId,
  attachments: readonly Attachment[],
): Promise<void> {
  const { store, storage } = parts;
  const stored = new AbortController();
  void keepPlace(parts, id, stored.signal);
  const puts = await Promise.allSettled(
    attachments.map((each) =>
      storage.putCounted(caller, each.key, sizeOf(each), () => storeOne(store, each)),
    ),
  );
  stored.abort();
  const failed = puts.find((put) => put.status === 'rejected');
  if (!failed) return;
  const toDelete = attachments.filter((_, i) => puts[i].status === 'fulfilled');
  // An object that cannot be deleted stays counted until it expires. The caller needs the first error.
  await Promise.allSettled(
    toDelete.map(async ({ key }) => {
      await store.delete(key);
      await storage.giveBack(caller.tenant, key);
    }),
  );
  throw failed.reason;
}

const sizeOf = (attachment: Attachment): number =>
  'copyOf' in attachment ? attachment.size : attachment.bytes.byteLength;

async function storeOne(store: ObjectStore, attachment: Attachment): Promise<void> {
  const { key } = attachment;
  if (!('copyOf' in attachment)) {
    const { bytes, contentType } = attachment;
    await store.put(key, bytes, { contentType });
  } else if (!(await store.copy(attachment.copyOf, key))) {
    throw new LehrError(
      'gone',
      'What was sent with the earlier job is no longer stored. Post the job again.',
    );
  }
}
