import type { Command } from '../command.ts';
import { audit } from './audit.ts';
import { cancel } from './cancel.ts';
import { doctor } from './doctor.ts';
import { jobs } from './jobs.ts';
import { createKey, listKeys, revokeKeys } from './keys.ts';
import { models } from './models.ts';
import { queues } from './queues.ts';
import { retryJobs } from './retry.ts';
import { submit } from './submit.ts';
import { transcribe } from './transcribe.ts';
import { watch } from './watch.ts';

/** In the order of the help text. */
export const COMMANDS: readonly Command[] = [
  submit,
  transcribe,
  watch,
  // Before `jobs`: the first command whose name matches runs.
  retryJobs,
  jobs,
  cancel,
  models,
  queues,
  createKey,
  listKeys,
  revokeKeys,
  audit,
  doctor,
];
