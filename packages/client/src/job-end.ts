/** The end of a job: waiting for it, and what it says. */
import type { Deadline } from './deadline.ts';
import { LehrError } from './lehr-error.ts';
import type { SucceededJob } from './lehr-options.ts';
import { pause } from './retry.ts';
import type { Transport } from './transport.ts';
import type { Job } from './wire.ts';

/** Of a request that waits for the end of a job. */
const MIN_HOLD_MS = 250;

/** Returns the job when it has ended, in whatever state. Throws LehrError `timed-out` when the deadline is over before. */
export async function waitForEnd(
  transport: Transport,
  id: string,
  deadline: Deadline,
  signal: AbortSignal | undefined,
): Promise<Job> {
  for (;;) {
    const { holdS } = deadline;
    const requestedAt = performance.now();
    const job = await transport.call(
      'get',
      '/v1/jobs/{id}',
      { path: { id }, query: { wait: holdS } },
      { idempotent: true, signal, holdMs: holdS * 1000 },
    );
    if (isOver(job)) return job;
    if (deadline.isOver) {
      throw new LehrError('timed-out', `${id} is still ${job.status}.`, { jobId: id, retryable: true });
    }
    // A server that shuts down answers its held requests at once: without the pause, this would be a busy loop.
    await pause(Math.max(0, MIN_HOLD_MS - (performance.now() - requestedAt)), signal);
  }
}

/** Whether a job has ended: succeeded, failed, canceled or expired. */
export const isOver = ({ status }: Pick<Job, 'status'>): boolean =>
  status !== 'scheduled' && status !== 'queued' && status !== 'running';

/** Returns the job when it has succeeded; otherwise throws LehrError with the code of its error. */
export function succeeded(job: Job): SucceededJob {
  const { id, status, output, error } = job;
  if (status === 'succeeded' && output) return { ...job, status, output };
  if (error) {
    const { code, title, retryable } = error;
    throw new LehrError(code, error.detail, { title, retryable, jobId: id });
  }
  if (!isOver(job)) {
    throw new LehrError('invalid-request', `${id} is still ${status}: wait for its end.`, { jobId: id });
  }
  const code = status === 'expired' ? 'deadline-exceeded' : 'job-canceled';
  throw new LehrError(code, `${id} ended as ${status}.`, { jobId: id });
}
