/** Waits for a number of job changes, for tests that act while other jobs run. */
import type { JobId } from '../../packages/shared/src/index.ts';
import { isTerminal, type RecordStore } from '../../packages/shared/src/records/index.ts';
import type { Keys } from '../../packages/shared/src/redis/index.ts';
import { testRedis } from './redis.ts';

export interface JobChanges {
  /** Resolves when `count` changes of any job have happened, or this job has ended. */
  pass(count: number, id: JobId): Promise<void>;
}

/** Subscribes until the end of the test. */
export async function jobChanges(
  redisUrl: string,
  { records, keys }: { readonly records: RecordStore; readonly keys: Keys },
): Promise<JobChanges> {
  const subscriber = testRedis(redisUrl, 'subscriber');
  const waiting = new Set<(changed: string) => void>();
  subscriber.on('pmessage', (_pattern: string, channel: string) => {
    for (const onChange of waiting) onChange(channel);
  });
  await subscriber.psubscribe(`${keys.prefix}:changed:*`);
  const hasEnded = async (id: JobId): Promise<boolean> =>
    isTerminal((await records.read(id))?.state ?? 'queued');
  return {
    pass: (count, id) =>
      new Promise((resolve, reject) => {
        let left = count;
        const end = (): void => {
          waiting.delete(onChange);
          resolve();
        };
        const endIfJobEnded = (): void => {
          hasEnded(id).then((ended) => ended && end(), reject);
        };
        const onChange = (channel: string): void => {
          left -= 1;
          if (left <= 0) end();
          else if (channel === keys.changed(id)) endIfJobEnded();
        };
        waiting.add(onChange);
        if (left <= 0) end();
        // The job may have ended before the subscription.
        else endIfJobEnded();
      }),
  };
}
