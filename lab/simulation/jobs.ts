/** How the simulation makes jobs: admitted and stored by the code of the API's POST, without HTTP in between. */
import { newJobId, type TenantId } from '../../packages/shared/src/index.ts';
import { Admitter, GroupQueues } from '../../packages/shared/src/queue/index.ts';
import { RecordStore } from '../../packages/shared/src/records/index.ts';
import {
  type Keys,
  keysOf,
  openRedis,
  type Redis,
  redisReady,
} from '../../packages/shared/src/redis/index.ts';

export const KEYS: Keys = keysOf('simulation');
/** As many as a worker runs lanes of, so that every group is served all the time. */
export const GROUPS = [512, 640, 768, 1024].map((side) => `diffusion.simulated@1.${side}x${side}`);
/** Engine time of a job as admission sees it: one minute. */
export const COST_MS = 60_000;
const MODEL = 'simulated@1';
const RETENTION_MS = 3_600_000;

export const tenantAt = (place: number): TenantId => `tenant-${place}` as TenantId;

export interface JobMaker {
  readonly redis: Redis;
  /** Reserves the place of a job and stores nothing. */
  admit(tenant: TenantId, group: string): Promise<void>;
  /** Returns when the job was admitted, by Redis's clock. */
  submit(tenant: TenantId, group: string): Promise<number>;
}

export async function openJobMaker(url: string): Promise<JobMaker> {
  // The role without a time limit for commands: on a busy machine the simulation may be slow, but it must not end.
  const redis = openRedis(url, 'blocking');
  await redisReady(redis, 60_000);
  const queues = await GroupQueues.open(redis, KEYS);
  const admitter = new Admitter(redis, KEYS);
  const records = new RecordStore(redis, KEYS, { retentionMs: RETENTION_MS });
  const admit = async (tenant: TenantId, queue: string) => {
    const admission = await admitter.admit({
      id: newJobId(),
      tenant,
      queue,
      priority: 'standard',
      cost: COST_MS,
    });
    if (admission.code !== 'admitted') throw new Error(`A job was not admitted: ${admission.code}`);
    return admission;
  };
  return {
    redis,
    admit: async (tenant, group) => void (await admit(tenant, group)),
    submit: async (tenant, group) => {
      const { id, score, startTag, now } = await admit(tenant, group);
      const job = {
        id,
        tenant,
        type: 'text-to-image' as const,
        model: MODEL,
        queue: group,
        priority: 'standard' as const,
        cost: COST_MS,
        score,
        fair_tag: startTag,
        admitted_at: now,
        input: INPUT,
        metadata: {},
        deadline_at: undefined,
      };
      await records.create(job, () => queues.of(group).add(job, score));
      return now;
    },
  };
}

/** Of the usual length: memory per job depends on it. */
export const INPUT = {
  prompt: 'a lighthouse on a rock in the evening, long exposure, film grain',
  negative_prompt: 'blurry',
  width: 512,
  height: 512,
  steps: 20,
  guidance: 7.5,
  sampler: 'dpmpp_2m',
  n: 1,
  seed: 123_456_789,
};
