/**
 * Recovery for every group queue ever used, also those that no live worker serves: a job whose lease ran out goes
 * back to the front of its queue, and its record back to queued.
 */

import type { JobId } from '../ids.ts';
import type { RecordStore } from '../records/index.ts';
import type { Keys, Redis } from '../redis/index.ts';
import type { GroupQueues } from './group-queue.ts';
import { WORKFLOW_QUEUE } from './workflow-runner.ts';

/** Returns the recovered ids. BullMQ needs two looks to tell a stalled job from one that is being renewed. */
export async function recoverStalled(
  redis: Redis,
  keys: Keys,
  queues: GroupQueues,
  records: RecordStore,
): Promise<JobId[]> {
  const groups = await redis.smembers(keys.groups);
  const recovered = (await Promise.all(groups.map((group) => queues.of(group).recoverStalled()))).flat();
  // A flow that somebody died on while closing it; its record has no attempts to take back.
  await queues.of(WORKFLOW_QUEUE).recoverStalled();
  // Without a lease this move is refused once a new worker holds one, so it cannot disturb a new attempt.
  await records.apply(recovered.map((id) => ({ move: 'requeue', id })));
  return recovered;
}
