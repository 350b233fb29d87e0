import { otherStore, type UsedStore } from '@lehr/shared';
import type { ObjectStore } from '@lehr/shared/objects';
import type { Check } from './check.ts';

export interface CheckedStore extends Omit<UsedStore, 'store'> {
  readonly open: () => Promise<ObjectStore>;
}

/** Checks that outputs can be stored, by storing one, and that the store is the one of the installation in Redis. */
export async function checkStore({ open, ...used }: CheckedStore): Promise<Check> {
  const name = 'store';
  const { redis, place } = used;
  try {
    const store = await open();
    await store.check();
    // The checks of Redis have said so if it is not connected.
    const other = redis.status === 'ready' ? await otherStore({ ...used, store }) : undefined;
    if (other) return { name, state: 'fail', detail: other.problem, advice: other.advice };
    return { name, state: 'ok', detail: `${place} accepts writes` };
  } catch (error) {
    const { message, cause } = error as Error & { cause?: Error };
    const detail =
      cause?.message && !message.includes(cause.message) ? `${message} (${cause.message})` : message;
    const advice =
      'Check the permissions and free space of the folder, or the name and credentials of the bucket.';
    return { name, state: 'fail', detail: `${place}: ${detail}`, advice };
  }
}
