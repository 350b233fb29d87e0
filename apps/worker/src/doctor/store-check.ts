import type { ObjectStore } from '@lehr/shared/objects';
import type { Check } from './check.ts';

/** Checks that outputs can be stored, by storing one. `where` is the name of the store to show. */
export async function checkStore(open: () => Promise<ObjectStore>, where: string): Promise<Check> {
  const name = 'store';
  try {
    const store = await open();
    await store.check();
    return { name, state: 'ok', detail: `${where} accepts writes` };
  } catch (error) {
    const { message, cause } = error as Error & { cause?: Error };
    const detail =
      cause?.message && !message.includes(cause.message) ? `${message} (${cause.message})` : message;
    const advice =
      'Check the permissions and free space of the folder, or the name and credentials of the bucket.';
    return { name, state: 'fail', detail: `${where}: ${detail}`, advice };
  }
}
