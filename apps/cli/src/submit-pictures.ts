/** What the commands that draw pictures share: whether they wait, and what they save and print. */
import type { Job, JobRequest, Lehr } from '@lehr/client';
import type { Call, Options } from './command.ts';
import { EXIT, type ExitCode, exitCodeOfJob } from './exit-codes.ts';
import { jobText, stateText } from './job-text.ts';
import { REQUEST_OPTIONS } from './request-options.ts';
import { savePictures } from './save.ts';
import { submitJob } from './submit-job.ts';

export const RESULT_OPTIONS = {
  wait: { type: 'boolean', short: 'w', help: 'Wait until the job has ended.' },
  output: {
    type: 'string',
    short: 'o',
    value: 'PATH',
    help: 'Wait, then save the pictures to a file or a folder/.',
  },
  ...REQUEST_OPTIONS,
} as const satisfies Options;

/** A note of these commands. */
export const WAIT_NOTE = 'Without --wait and --output, the command ends as soon as the job is stored.';

export async function submitPictures(
  call: Call<typeof RESULT_OPTIONS>,
  request: (lehr: Lehr) => Promise<JobRequest>,
): Promise<ExitCode> {
  const { values, terminal } = call;
  const wait = values.wait || values.output !== undefined;
  const lehr = await call.client();
  const job = await submitJob(lehr, await request(lehr), call, { wait });
  if (!wait) return showStored(job, call);
  const files =
    values.output === undefined ? [] : await savePictures(lehr, job, values.output, terminal.signal);
  terminal.out(
    call.json ? `${JSON.stringify({ ...job, ...(files.length > 0 && { files }) })}\n` : jobText(job, files),
  );
  return exitCodeOfJob(job);
}

function showStored(job: Job, { terminal, json }: Pick<Call, 'terminal' | 'json'>): ExitCode {
  if (json) terminal.out(`${JSON.stringify(job)}\n`);
  else terminal.out(`${job.id} ${stateText(job)}\nlehr watch ${job.id}\n`);
  return EXIT.ok;
}
