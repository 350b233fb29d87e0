import { followJob } from '@lehr/shared';
import { isTerminal, type JobRecord } from '@lehr/shared/records';
import type { Keys, Redis } from '@lehr/shared/redis';

export interface PollingParts {
  readonly redis: Redis;
  readonly keys: Keys;
}

/**
 * A caller that reads an unfinished job follows it for a few seconds, so that its next read finds recent progress. In the
 * background: without it, progress is a few seconds old.
 */
export function followByPolling({ redis, keys }: PollingParts, { id, state }: JobRecord): void {
  if (!isTerminal(state)) followJob(redis, keys, id, false).catch(() => {});
}
