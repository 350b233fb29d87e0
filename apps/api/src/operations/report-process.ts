/** Says in Redis that this API process runs, and in which version. */
import { type Clock, forgetApiProcess, type Log, reportApiProcess } from '@lehr/shared';
import type { Keys, Redis } from '@lehr/shared/redis';

const EVERY_MS = 5_000;

export interface ReportProcessParts {
  readonly instance: string;
  readonly redis: Redis;
  readonly keys: Keys;
  readonly clock: Clock;
  readonly log: Log;
}

/** `roles` as in LEHR_ROLES. Returns the function that stops it and removes the report. */
export function reportProcess(parts: ReportProcessParts, roles: string): () => Promise<void> {
  const { instance: id, redis, keys, log } = parts;
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  const report = async (): Promise<void> => {
    await reportApiProcess(redis, keys, { id, roles }).catch((error: unknown) =>
      log.debug({ error }, 'this process could not be reported'),
    );
    if (!isStopped) timer = setTimeout(next, EVERY_MS);
  };
  let running = report();
  function next(): void {
    running = report();
  }
  return async () => {
    isStopped = true;
    clearTimeout(timer);
    await running;
    await forgetApiProcess(redis, keys, id).catch(() => {});
  };
}
