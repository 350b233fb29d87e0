/**
 * Recovery for every group queue ever used, also those that no live worker serves: a job whose lease ran out goes
 * back to the front of its queue, and its record back to queued.
 */
import type { JobId } from '../ids.ts';
import type { RecordStore } from '../records/index.ts';
import type { Keys, Redis } from '../redis/index.ts';
import type { GroupQueues } from './group-queues.ts';
import { WORKFLOW_QUEUE } from './workflow-runner.ts';

/** Returns the recovered ids. BullMQ needs two checks to tell a stalled job from one that is being renewed. */
export async function recoverStalled(
  redis: Redis,
  keys: Keys,
  queues: GroupQueues,
  records: RecordStore,
): Promise<JobId[]> {
  const groups = await redis.smembers(keys.groups);
  const recovered = (await Promise.all(groups.map((group) => queues.of(group).recoverStalled()))).flat();
  // Flows whose process died while closing them; a workflow has no attempt to requeue.
  await queues.of(WORKFLOW_QUEUE).recoverStalled();
  // This move names no lease, so it is refused once a worker holds one: it cannot disturb a new attempt.
  await records.apply(recovered.map((id) => ({ move: 'requeue', id })));
  return recovered;
}
