/** What happens to the jobs of an installation, change by change: for tests that act in the midst of it. */
import type { JobId } from '../../packages/shared/src/index.ts';
import { isTerminal, type RecordStore } from '../../packages/shared/src/records/index.ts';
import type { Keys } from '../../packages/shared/src/redis/index.ts';
import { testRedis } from './redis.ts';

export interface Happenings {
  /** Resolves when `count` records have changed from now on, or this job is over. */
  pass(count: number, id: JobId): Promise<void>;
}

/** Listens until the test that opened it is over. */
export async function happenings(
  redisUrl: string,
  { records, keys }: { readonly records: RecordStore; readonly keys: Keys },
): Promise<Happenings> {
  const subscriber = testRedis(redisUrl, 'subscriber');
  const waiting = new Set<(changed: string) => void>();
  subscriber.on('pmessage', (_pattern: string, channel: string) => {
    for (const look of waiting) look(channel);
  });
  await subscriber.psubscribe(`${keys.prefix}:changed:*`);
  const isOver = async (id: JobId): Promise<boolean> =>
    isTerminal((await records.read(id))?.state ?? 'queued');
  return {
    pass: (count, id) =>
      new Promise((resolve, reject) => {
        let left = count;
        const end = (): void => {
          waiting.delete(look);
          resolve();
        };
        const endIfOver = (): void => {
          isOver(id).then((over) => over && end(), reject);
        };
        const look = (channel: string): void => {
          left -= 1;
          if (left <= 0) end();
          else if (channel === keys.changed(id)) endIfOver();
        };
        waiting.add(look);
        if (left <= 0) end();
        // Its end may have come before we listened.
        else endIfOver();
      }),
  };
}
