/** A job that repeats one that has ended: with the stored input, seeds included, on the same version of the model. */
import { type JobRequest, LehrError, parseGroupQueueName, type Registry } from '@lehr/shared';
import { isTerminal, type JobRecord, type NewJob } from '@lehr/shared/records';
import type { ResolvedWork } from './resolve.ts';

/** Stands for a request: everything that a request would be resolved to is in the record. */
export interface RetryRequest extends Pick<JobRequest, 'priority' | 'deadline_s' | 'metadata'> {
  readonly type: 'retry';
  readonly of: JobRecord;
  readonly webhook?: undefined;
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
  const { priority, metadata, deadline_at, created_at } = of;
  const deadline_s = deadline_at === undefined ? undefined : (deadline_at - created_at) / 1000;
  return { type: 'retry', of, priority, metadata, deadline_s };
}

/** Throws `model-not-found` when the version of the model is no longer offered. */
export function resolveRetry(registry: Registry, { of }: RetryRequest): ResolvedWork {
  const { type, model, queue, cost, input } = of;
  const group = parseGroupQueueName(queue);
  if (group) registry.resolve(group.task, model, 0);
  return { type, model, queue, cost, input };
}

/** The new job refers to the earlier one and has its webhook. */
export const retryFields = ({
  of,
}: RetryRequest): Pick<NewJob, 'retried_from' | 'webhook' | 'hook_events'> => ({
  retried_from: of.id,
  webhook: of.webhook,
  hook_events: of.hook_events,
});
