/** A small world around the queue layer: records, group queues and a claimer over one real Redis. */
import { Queue } from 'bullmq';
import { onTestFinished } from 'vitest';
import type { Job, PriorityClass } from '../../packages/shared/src/index.ts';
import {
  DEFAULT_TENANT,
  type JobId,
  newJobId,
  newLeaseToken,
  newWorkerId,
  type TenantId,
  type WorkerId,
} from '../../packages/shared/src/index.ts';
import {
  AttemptStore,
  type Claim,
  Claimer,
  firstScore,
  type GroupQueue,
  GroupQueues,
  type LeaseTimes,
} from '../../packages/shared/src/queue/index.ts';
import { type NewJob, RecordStore } from '../../packages/shared/src/records/index.ts';
import type { Keys, Redis } from '../../packages/shared/src/redis/index.ts';
import { freshKeys, testRedis } from './redis.ts';

export const GROUP = 'diffusion.tiny@1.64x64';

export interface QueueWorld {
  readonly keys: Keys;
  readonly redis: Redis;
  readonly queues: GroupQueues;
  readonly records: RecordStore;
  readonly worker: WorkerId;
  readonly claimer: Claimer;
  /** Starts and ends attempts for this worker. */
  readonly store: AttemptStore;
  /** Claims jobs without starting them. */
  claim(group: string, count: number): Promise<Claim[]>;
  /** Creates a job with its queue entry and returns its id. */
  submit(fields?: Partial<NewJob>): Promise<JobId>;
  /** Another worker on the same Redis. */
  another(): Promise<
    Pick<QueueWorld, 'worker' | 'claimer' | 'store' | 'claim' | 'redis'> & { readonly blocking: Redis }
  >;
}

export const newJob = (fields: Partial<NewJob> = {}): NewJob => ({
  id: newJobId(),
  tenant: DEFAULT_TENANT as TenantId,
  type: 'text-to-image' as Job['type'],
  model: 'tiny@1',
  queue: GROUP,
  priority: 'standard' as PriorityClass,
  cost: 100,
  input: { prompt: 'a red circle' },
  metadata: {},
  deadline_at: undefined,
  ...fields,
});

/** Claims up to `count` jobs without starting them. */
export async function claimJobs(queue: GroupQueue, worker: WorkerId, count: number): Promise<Claim[]> {
  const claims = await Promise.all(Array.from({ length: count }, () => queue.claim(newLeaseToken(worker))));
  return claims.filter((claim) => claim !== undefined);
}

/** A group queue as an operator has it, with BullMQ's own class. */
export function bullQueue({ redis, keys }: Pick<QueueWorld, 'redis' | 'keys'>, name: string): Queue {
  const queue = new Queue(name, { connection: redis, prefix: keys.prefix });
  onTestFinished(() => queue.close());
  return queue;
}

export async function queueWorld(url: string, times?: Partial<LeaseTimes>): Promise<QueueWorld> {
  const keys = freshKeys();
  const redis = testRedis(url);
  const queues = await GroupQueues.open(redis, keys, { leaseMs: 30_000, stalledCheckMs: 5_000, ...times });
  const records = new RecordStore(redis, keys, { retentionMs: 60_000 });
  const another = async () => {
    const commands = testRedis(url);
    const blocking = testRedis(url, 'blocking');
    const worker = newWorkerId('test');
    const own = await GroupQueues.open(commands, keys, { leaseMs: 30_000, stalledCheckMs: 5_000, ...times });
    const claimer = new Claimer({ commands, blocking, keys, queues: own, worker });
    const store = new AttemptStore({ redis: commands, keys, records, worker, leaseMs: own.leaseMs });
    const claim = (group: string, count: number) => claimJobs(own.of(group), worker, count);
    return { worker, claimer, store, claim, redis: commands, blocking };
  };
  const { worker, claimer, store, claim } = await another();
  return {
    keys,
    redis,
    queues,
    records,
    worker,
    claimer,
    store,
    claim,
    another,
    submit: async (fields) => {
      const job = newJob(fields);
      await records.create(job, () => queues.of(job.queue).add(job, firstScore(job.priority)));
      return job.id;
    },
  };
}
