/** A job that repeats one that has ended: with the stored input, seeds included, on the same version of the model. */
import {
  inputFolder,
  type JobId,
  type JobRequest,
  LehrError,
  parseGroupQueueName,
  type Registry,
  type SafetyMode,
  toObjectKey,
} from '@lehr/shared';
import type { ObjectStore } from '@lehr/shared/objects';
import { isTerminal, type JobRecord } from '@lehr/shared/records';
import { z } from 'zod';
import { checkAdapters } from './complete-adapters.ts';
import { safetyFields } from './complete-input.ts';
import type { Attachment } from './media-input.ts';
import type { Resolution } from './resolve.ts';

interface RetryParts {
  readonly registry: Registry;
  readonly store: ObjectStore;
}

/** Stands for a request: everything that a request would be resolved to is in the record. */
export interface RetryRequest
  extends Pick<JobRequest, 'priority' | 'deadline_s' | 'metadata' | 'concurrency'> {
  readonly type: 'retry';
  readonly of: JobRecord;
  readonly webhook?: undefined;
  /** It runs at once. */
  readonly run_at?: undefined;
  readonly delay_s?: undefined;
}

/** Throws `conflict` for a job that cannot be repeated. */
export function retryOf(of: JobRecord): RetryRequest {
  if (!isTerminal(of.state)) throw new LehrError('conflict', `The job is ${of.state}: it has not ended.`);
  if (of.workflow) throw new LehrError('conflict', 'A workflow cannot be retried; post it again.');
  if (of.parent !== undefined)
    throw new LehrError(
      'conflict',
      'A node cannot be retried without its workflow; post the workflow again.',
    );
  const { priority, metadata, concurrency, deadline_at, run_at, created_at } = of;
  const deadline_s = deadline_at === undefined ? undefined : (deadline_at - (run_at ?? created_at)) / 1000;
  return { type: 'retry', of, priority, metadata, concurrency, deadline_s };
}

/**
 * The new job refers to the earlier one and has its webhook. What was sent with the earlier job is copied, so that each of the two can
 * be deleted, and expires, without the other. Throws `model-not-found` when the version of the model is no longer offered.
 */
export async function resolveRetry(
  { registry, store }: RetryParts,
  id: JobId,
  { of }: RetryRequest,
  safety: SafetyMode | null,
): Promise<Resolution> {
  const { tenant, type, model, queue, cost, input, webhook, hook_events } = of;
  const same = { type, model, queue, cost, webhook, hook_events, retried_from: of.id };
  const group = parseGroupQueueName(queue);
  const offered = group && registry.resolve(group.task, model, 0);
  if (offered?.model.task === 'diffusion') checkAdapters(input, offered.model);
  // As the key and the model say now.
  const checked = { safety: undefined, ...(offered && safetyFields(offered.model, safety)) };
  const attachments: Attachment[] = [];
  const copyOne = async (value: unknown): Promise<unknown> => {
    const sent = SentObjectSchema.safeParse(value).data;
    if (!sent) return value;
    const copyOf = toObjectKey(sent.key);
    const key = toObjectKey(inputFolder(tenant, id) + copyOf.split('/').at(-1));
    const found = await store.get(copyOf);
    await found?.body.cancel();
    attachments.push({ key, copyOf, size: found?.bytes ?? 0 });
    return { ...sent, key };
  };
  const copied: Record<string, unknown> = {};
  for (const field of ['audio', 'image', 'mask', 'texts'])
    if (input[field] !== undefined) copied[field] = await copyOne(input[field]);
  if (Array.isArray(input.control)) {
    const control: unknown[] = [];
    for (const each of input.control) control.push({ ...each, image: await copyOne(each.image) });
    copied.control = control;
  }
  return { ...same, input: { ...input, ...checked, ...copied }, attachments };
}

/** Sent inside a request. Files that were uploaded belong to no job. */
const SentObjectSchema = z.looseObject({
  kind: z.literal('object'),
  key: z.string().regex(/^in\/[^/]+\/job_/),
});
