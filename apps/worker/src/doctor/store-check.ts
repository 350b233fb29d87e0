import type { ObjectStore } from '@lehr/shared/objects';
import type { Check } from './check.ts';

/** Whether outputs can be written, by writing. `where` is the store as it may be shown. */
export async function checkStore(open: () => Promise<ObjectStore>, where: string): Promise<Check> {
  const name = 'store';
  try {
    const store = await open();
    await store.check();
    return { name, state: 'ok', detail: `${where} takes writes` };
  } catch (error) {
    const { message, cause } = error as Error & { cause?: Error };
    const detail =
      cause?.message && !message.includes(cause.message) ? `${message} (${cause.message})` : message;
    const advice = 'Look at rights and free space of the folder, or at name and credentials of the bucket.';
    return { name, state: 'fail', detail: `${where}: ${detail}`, advice };
  }
}
