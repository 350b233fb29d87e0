/** The stored jobs of a running API: a test reads them in Redis and changes them as a worker would. */
import { vi } from 'vitest';
import { type JobId, type LeaseToken, newLeaseToken, newWorkerId } from '../../packages/shared/src/index.ts';
import { RecordStore } from '../../packages/shared/src/records/index.ts';
import { type Keys, keysOf, type Redis } from '../../packages/shared/src/redis/index.ts';
import { testRedis } from './redis.ts';
import type { Stack } from './stack.ts';

export interface StoredJobs {
  readonly redis: Redis;
  readonly keys: Keys;
  /** The lease of every attempt that the test starts. */
  readonly lease: LeaseToken;
  readonly records: RecordStore;
  /** All jobs of the tenant, oldest first. */
  jobs(): Promise<JobId[]>;
  /** Resolves with all jobs when there are at least `count`. */
  untilJobs(count: number): Promise<JobId[]>;
  start(id: JobId): Promise<void>;
  fail(id: JobId): Promise<void>;
}

export function storedJobs(
  redisUrl: string,
  { namespace, tenant }: Pick<Stack, 'namespace' | 'tenant'>,
): StoredJobs {
  const redis = testRedis(redisUrl);
  const keys = keysOf(namespace);
  const records = new RecordStore(redis, keys, { retentionMs: 60_000 });
  const worker = newWorkerId('test');
  const lease = newLeaseToken(worker);
  const jobs = async () => (await redis.zrange(keys.jobsOf(tenant), '0', '-1')) as JobId[];
  const start = async (id: JobId): Promise<void> => {
    await records.apply([{ move: 'start', id, lease, fields: { worker } }]);
  };
  return {
    redis,
    keys,
    lease,
    records,
    jobs,
    untilJobs: (count) =>
      vi.waitFor(
        async () => {
          const all = await jobs();
          if (all.length < count) throw new Error(`${all.length} of ${count} jobs exist`);
          return all;
        },
        { timeout: 20_000, interval: 10 },
      ),
    start,
    fail: async (id) => {
      await start(id);
      const error = {
        code: 'numeric-error',
        title: 'Bad numbers',
        detail: 'NaN at step 3',
        retryable: false,
      };
      await records.apply([{ move: 'fail', id, lease, fields: { error } }]);
    },
  };
}
