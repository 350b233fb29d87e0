/** Making a job: model, group and price decided, then record and queue entry in one round trip. Knows no HTTP. */
import { createHash } from 'node:crypto';
import {
  type DiffusionGroup,
  formatModelRef,
  groupQueueName,
  type JobId,
  type JobRequest,
  type ModelRef,
  newJobId,
  type Registry,
  type TextToImageInput,
  type WorkerStatus,
} from '@lehr/shared';
import { firstRank, type GroupQueues } from '@lehr/shared/queue';
import type { NewJob, RecordStore } from '@lehr/shared/records';
import { type Redis, redisNow } from '@lehr/shared/redis';
import type { Caller } from '../auth/authenticator.ts';
import { completeInput } from './complete-input.ts';
import type { FleetView } from './fleet-view.ts';
import { priceOf } from './price.ts';

export interface SubmitParts {
  readonly registry: Registry;
  readonly redis: Redis;
  readonly records: RecordStore;
  readonly queues: GroupQueues;
  readonly fleet: FleetView;
}

/**
 * Returns the id under which the job waits. Throws `model-not-found` and `invalid-input` before anything is stored. When it
 * throws `unavailable` the job may or may not have been stored: Redis went away in the middle.
 */
export async function submitJob(parts: SubmitParts, caller: Caller, request: JobRequest): Promise<JobId> {
  const id = newJobId();
  const { model, ref } = parts.registry.resolve('diffusion', request.model, fractionOf(id));
  const input = completeInput(request.input, model);
  const fleet = await parts.fleet.workers();
  const group = groupOf(input, ref, fleet);
  const job: NewJob = {
    id,
    tenant: caller.tenant,
    type: request.type,
    model: formatModelRef(ref),
    queue: groupQueueName(group),
    priority: request.priority,
    cost: priceOf(input, group, fleet),
    input,
    metadata: request.metadata,
    deadline_at: await deadlineAt(parts.redis, request.deadline_s),
  };
  const queue = parts.queues.of(job.queue);
  await parts.records.create(job, () => queue.add(job, firstRank(job.priority)));
  return id;
}

/** The group of a job. A model that some live worker can batch only when aligned gets aligned groups. */
export function groupOf(
  input: TextToImageInput,
  model: ModelRef,
  fleet: readonly WorkerStatus[],
): DiffusionGroup {
  const { width, height, steps, sampler, guidance } = input;
  const ref = formatModelRef(model);
  const isAligned = fleet.some((worker) =>
    worker.models.some((served) => served.ref === ref && served.batching === 'aligned'),
  );
  const group: DiffusionGroup = { task: 'diffusion', model, width, height };
  return isAligned ? { ...group, aligned: { steps, sampler, guidance } } : group;
}

/** 0 up to 1, evenly spread over ids: which version of a model the job gets. */
export const fractionOf = (id: JobId): number =>
  createHash('sha256').update(id).digest().readUInt32BE(0) / 2 ** 32;

/** By Redis's clock, which every process measures deadlines with. */
async function deadlineAt(redis: Redis, seconds: number | undefined): Promise<number | undefined> {
  return seconds === undefined ? undefined : Math.round((await redisNow(redis)) + seconds * 1000);
}
