/** Many ended jobs, written by the record store as a worker would end them, without an engine. */
import {
  DEFAULT_TENANT,
  newJobId,
  newLeaseToken,
  newWorkerId,
  type TenantId,
} from '../../packages/shared/src/index.ts';
import { RecordStore } from '../../packages/shared/src/records/index.ts';
import { keysOf } from '../../packages/shared/src/redis/index.ts';
import { newJob } from './queue-world.ts';
import { testRedis } from './redis.ts';

const AT_ONCE = 200;

/** Failed pictures of one tenant, whose prompts are `a picture, number 1` and so on, oldest first. */
export async function manyJobs(
  redisUrl: string,
  namespace: string,
  count: number,
  tenant = DEFAULT_TENANT as TenantId,
): Promise<void> {
  const keys = keysOf(namespace);
  const records = new RecordStore(testRedis(redisUrl), keys, { retentionMs: 3_600_000 });
  const worker = newWorkerId('test');
  const lease = newLeaseToken(worker);
  const error = { code: 'numeric-error', title: 'Bad numbers', detail: 'NaN at step 3', retryable: false };
  for (let done = 0; done < count; done += AT_ONCE) {
    const jobs = Array.from({ length: Math.min(AT_ONCE, count - done) }, (_, i) =>
      newJob({ id: newJobId(), tenant, input: { prompt: `a picture, number ${done + i + 1}` } }),
    );
    await Promise.all(jobs.map((job) => records.create(job, async () => {})));
    await records.apply(jobs.map(({ id }) => ({ move: 'start', id, lease, fields: { worker } })));
    await records.apply(jobs.map(({ id }) => ({ move: 'fail', id, lease, fields: { error } })));
  }
}
