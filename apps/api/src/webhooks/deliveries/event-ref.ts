/** Names the events of jobs in the sorted sets of the outbox and of the schedule. */
import type { JobId } from '@lehr/shared';

/** Which event of which job. */
export interface EventRef {
  readonly job: JobId;
  readonly event: string;
}

export const entryOf = ({ job, event }: EventRef): string => `${job} ${event}`;

export function refOf(entry: string): EventRef {
  const [job, event] = entry.split(' ');
  return { job: job as JobId, event };
}
