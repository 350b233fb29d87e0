import { type Job, type Lehr, LehrError } from '@lehr/client';
import type { ProgressView } from './progress.ts';

/** Shows a job's events and returns the job when it has ended. Throws LehrError `timed-out` after `timeoutMs`; the job continues. */
export async function followToEnd(
  lehr: Lehr,
  id: string,
  view: ProgressView,
  { signal, timeoutMs }: { signal: AbortSignal; timeoutMs?: number | undefined },
): Promise<Job> {
  const timeout = new AbortController();
  const timer =
    timeoutMs === undefined
      ? undefined
      : setTimeout(() => {
          const message = `${id} has not ended after ${timeoutMs / 1000} s; it continues`;
          timeout.abort(new LehrError('timed-out', message, { jobId: id, retryable: true }));
        }, timeoutMs);
  try {
    const both = AbortSignal.any([signal, timeout.signal]);
    for await (const event of lehr.stream(id, { signal: both, previews: false })) view.show(event);
    return await lehr.get(id, { signal: both });
  } finally {
    clearTimeout(timer);
    view.end();
  }
}
