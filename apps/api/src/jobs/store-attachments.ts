/** Stores the audio that was sent inside a request: all of it, or none. */
import type { ObjectStore } from '@lehr/shared/objects';
import type { Admitter } from '@lehr/shared/queue';
import type { Caller } from '../auth/authenticator.ts';
import { QuotaError } from '../limits/quota.ts';
import type { StorageQuota } from '../limits/storage-quota.ts';
import type { RequestIdentity } from './identity.ts';
import type { Attachment } from './media-input.ts';

export interface AttachmentParts {
  readonly admitter: Admitter;
  readonly store: ObjectStore;
  readonly storage: StorageQuota;
}

/**
 * Throws QuotaError when the attachments do not fit, before the request takes a place in the queue. A request whose job an earlier
 * one may have made is not refused here, because it may store nothing.
 */
export async function checkRoom(
  { admitter, storage }: Omit<AttachmentParts, 'store'>,
  caller: Caller,
  attachments: readonly Attachment[],
  identity: RequestIdentity = {},
): Promise<void> {
  try {
    await storage.check(
      caller,
      attachments.map(({ bytes }) => bytes.byteLength),
    );
  } catch (error) {
    if (error instanceof QuotaError && (await admitter.isRepeat(identity))) return;
    throw error;
  }
}

/** Throws QuotaError or the error of the store; then no attachment is stored or counted. */
export async function storeAttachments(
  { store, storage }: Omit<AttachmentParts, 'admitter'>,
  caller: Caller,
  attachments: readonly Attachment[],
): Promise<void> {
  const puts = await Promise.allSettled(
    attachments.map(({ key, bytes, contentType }) =>
      storage.putCounted(caller, key, bytes.byteLength, () => store.put(key, bytes, { contentType })),
    ),
  );
  const failed = puts.find((put) => put.status === 'rejected');
  if (!failed) return;
  const stored = attachments.filter((_, i) => puts[i].status === 'fulfilled');
  // An object that cannot be deleted stays counted until it expires. The caller needs the first error.
  await Promise.allSettled(
    stored.map(async ({ key }) => {
      await store.delete(key);
      await storage.giveBack(caller.tenant, key);
    }),
  );
  throw failed.reason;
}
