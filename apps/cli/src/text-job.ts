/** What every command of texts does with its job: submits it, waits for its end, and writes the result. */
import type { JobOutputs, JobRequest } from '@lehr/client';
import type { Call } from './command.ts';
import { type ExitCode, exitCodeOfJob } from './exit-codes.ts';
import { jobText } from './job-text.ts';
import { type REQUEST_OPTIONS, requestFields } from './request-options.ts';
import { submitJob } from './submit-job.ts';
import type { TEXT_OPTIONS } from './text-input.ts';

type EmbeddingRequest = Extract<JobRequest, { type: 'text-embedding' }>;
type ClassificationRequest = Extract<JobRequest, { type: 'text-classification' }>;
type Work = Pick<EmbeddingRequest, 'type' | 'input'> | Pick<ClassificationRequest, 'type' | 'input'>;

/** `show` makes standard output of the result; with --json it is the whole job. A job that did not succeed goes to standard error. */
export async function runTextJob(
  call: Call<typeof TEXT_OPTIONS & typeof REQUEST_OPTIONS>,
  work: Work,
  show: (output: JobOutputs) => string,
): Promise<ExitCode> {
  const { values, terminal, json } = call;
  const lehr = await call.client();
  // The server validates it, so that an older client accepts the values of a newer server.
  const durability = values.durability as EmbeddingRequest['durability'];
  const job = await submitJob(lehr, { ...work, durability, ...requestFields(values) }, call, { wait: true });
  if (json) terminal.out(`${JSON.stringify(job)}\n`);
  else if (job.status !== 'succeeded') terminal.err(jobText(job));
  else terminal.out(show(await lehr.outputs(job, { signal: terminal.signal })));
  return exitCodeOfJob(job);
}
