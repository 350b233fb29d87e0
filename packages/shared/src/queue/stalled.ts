/**
 * Recovery for every group queue, also those that no live worker serves: a job whose lease ran out goes
 * back to its place in the queue, and its record back to queued.
 */
import type { JobId } from '../base/ids.ts';
import type { RecordStore } from '../records/index.ts';
import type { Keys, Redis } from '../redis/index.ts';
import type { GroupQueue } from './group-queue.ts';
import { type GroupQueues, indexWaiting } from './group-queues.ts';
import { firstScore } from './score.ts';
import { WORKFLOW_QUEUE } from './workflow-runner.ts';

/**
 * Returns the recovered ids. BullMQ needs two checks to tell a stalled job from one that is being renewed. A queue that fails
 * does not keep the others from being recovered; its error is thrown after them.
 */
export async function recoverStalled(
  redis: Redis,
  keys: Keys,
  queues: GroupQueues,
  records: RecordStore,
): Promise<JobId[]> {
  const groups = await redis.smembers(keys.groups);
  const rounds = await Promise.allSettled(groups.map((group) => recoverGroup(queues.of(group), records)));
  await indexWaiting(
    redis,
    groups.map((group) => queues.of(group)),
  );
  // Flows whose process died while closing them; a workflow has no attempt to requeue.
  await queues.of(WORKFLOW_QUEUE).recoverStalled();
  const failures = rounds.flatMap((round) => (round.status === 'rejected' ? [round.reason] : []));
  if (failures.length > 0) throw new AggregateError(failures, `${failures.length} queues were not recovered`);
  return rounds.flatMap((round) => (round.status === 'fulfilled' ? round.value : []));
}

async function recoverGroup(queue: GroupQueue, records: RecordStore): Promise<JobId[]> {
  const ids = await queue.recoverStalled();
  if (ids.length === 0) return ids;
  const found = (await records.outlines(ids)).records.filter((record) => record !== undefined);
  await queue.restore(found.map(({ id, score, priority }) => [id, score ?? firstScore(priority)]));
  // This move names no lease, so it is refused once a worker holds one: it cannot disturb a new attempt.
  await records.apply(ids.map((id) => ({ move: 'requeue', id })));
  return ids;
}
