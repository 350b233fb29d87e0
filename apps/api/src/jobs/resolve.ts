/** A request made definite: model and version, every field decided, its group and its price. */
import { createHash } from 'node:crypto';
import {
  type DiffusionGroup,
  formatModelRef,
  groupQueueName,
  type JobId,
  type JobRequest,
  type ModelRef,
  type Registry,
  type TextToImageInput,
  type WorkerStatus,
} from '@lehr/shared';
import type { NewJob } from '@lehr/shared/records';
import { completeInput } from './complete-input.ts';
import { priceOf } from './price.ts';

export type ResolvedJob = Pick<NewJob, 'type' | 'model' | 'queue' | 'cost' | 'input'>;

/** Throws `model-not-found` and `invalid-input`. The id decides which version of a model the job gets. */
export function resolveJob(
  registry: Registry,
  id: JobId,
  request: JobRequest,
  fleet: readonly WorkerStatus[],
): ResolvedJob {
  const { model, ref } = registry.resolve('diffusion', request.model, fractionOf(id));
  const input = completeInput(request.input, model);
  const group = groupOf(input, ref, fleet);
  return {
    type: request.type,
    model: formatModelRef(ref),
    queue: groupQueueName(group),
    cost: priceOf(input, group, fleet),
    input,
  };
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
