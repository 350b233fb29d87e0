import { isOver, type Job, type JobRequest, type Lehr } from '@lehr/client';
import { type Call, numberOf } from './command.ts';
import { followToEnd } from './follow-to-end.ts';
import { progressBar } from './progress.ts';
import type { REQUEST_OPTIONS } from './request-options.ts';

/** Creates a job. With `wait`, shows a progress bar on a terminal and returns the job when it has ended. */
export async function submitJob(
  lehr: Lehr,
  request: JobRequest,
  { values, terminal, json }: Call<typeof REQUEST_OPTIONS>,
  { wait }: { readonly wait: boolean },
): Promise<Job> {
  const { signal } = terminal;
  const idempotencyKey = values['idempotency-key'];
  const seconds = numberOf('timeout', values.timeout);
  const timeoutMs = seconds && seconds * 1000;
  // A job without a record cannot be followed: its request is held.
  const isHeld = wait && 'durability' in request && request.durability === 'none';
  const job = await lehr.submit(request, { signal, idempotencyKey, ...(isHeld && { wait, timeoutMs }) });
  if (!wait || isOver(job)) return job;
  const view =
    terminal.errIsTty && !json
      ? progressBar((text) => terminal.err(text), terminal.columns)
      : { show: () => {}, end: () => {} };
  return followToEnd(lehr, job.id, view, { signal, timeoutMs });
}
