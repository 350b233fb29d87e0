/** Names the events of jobs in the sorted sets of the outbox and of the schedule. */
import { readFileSync } from 'node:fs';
import type { JobId } from '@lehr/shared';
import { defineScript, type Redis } from '@lehr/shared/redis';

const TAKE_DUE_LUA = readFileSync(new URL('./take-due.lua', import.meta.url), 'utf8');

/** Which event of which job. */
export interface EventRef {
  readonly job: JobId;
  readonly event: string;
}

export const entryOf = ({ job, event }: EventRef): string => `${job} ${event}`;

export interface TakeOptions {
  /** Only entries that have been due for this long. */
  readonly overdueMs?: number;
  readonly count: number;
  /** No other process takes them for this long. */
  readonly holdMs: number;
}

export type TakeDue = (set: string, options: TakeOptions) => Promise<EventRef[]>;

export function takerOf(redis: Redis): TakeDue {
  const script = defineScript(redis, 'lehrTake', TAKE_DUE_LUA);
  return async (set, { overdueMs = 0, count, holdMs }) => {
    const entries = (await script.run([set], [overdueMs, count, holdMs])) as string[];
    return entries.map((entry) => {
      const [job, event] = entry.split(' ');
      return { job: job as JobId, event };
    });
  };
}
