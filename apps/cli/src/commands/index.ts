import type { Command } from '../command.ts';
import { audit } from './audit.ts';
import { batch } from './batches/create.ts';
import { listBatches } from './batches/list.ts';
import { batchResults } from './batches/results.ts';
import { cancel } from './cancel.ts';
import { classify } from './classify.ts';
import { doctor } from './doctor.ts';
import { edit } from './edit.ts';
import { embed } from './embed.ts';
import { fleet } from './fleet.ts';
import { cancelJobs, deleteJobs, prioritizeJobs } from './job-actions.ts';
import { jobs } from './jobs.ts';
import { limitKey } from './key-limits.ts';
import { createKey, listKeys, revokeKeys } from './keys.ts';
import { logs } from './logs.ts';
import { mcp } from './mcp.ts';
import { checkModel } from './models/check.ts';
import { exportModel } from './models/export.ts';
import { importModel } from './models/import.ts';
import { listModels } from './models/list.ts';
import { models } from './models/offered.ts';
import { prepareModel } from './models/prepare.ts';
import { pullModel } from './models/pull.ts';
import { removeModel } from './models/remove.ts';
import { pauseQueues, resumeQueues } from './pause.ts';
import { queues } from './queues.ts';
import { retryJobs } from './retry.ts';
import {
  forgetRollout,
  pauseRollout,
  promoteVersion,
  resumeRollout,
  rollBackVersion,
} from './rollouts/change.ts';
import { deployVersion } from './rollouts/deploy.ts';
import { listRollouts } from './rollouts/list.ts';
import { createSchedule, deleteSchedule, listSchedules, pauseSchedule, resumeSchedule } from './schedules.ts';
import { submit } from './submit.ts';
import { transcribe } from './transcribe.ts';
import { transform } from './transform.ts';
import { tune } from './tune.ts';
import { usage } from './usage.ts';
import { watch } from './watch.ts';

/** In the order of the help text. */
export const COMMANDS: readonly Command[] = [
  submit,
  edit,
  transform,
  transcribe,
  embed,
  classify,
  watch,
  mcp,
  // Before `jobs`, and the commands of models before `models`: the first command whose name matches runs.
  cancelJobs,
  retryJobs,
  deleteJobs,
  prioritizeJobs,
  jobs,
  createSchedule,
  pauseSchedule,
  resumeSchedule,
  deleteSchedule,
  listSchedules,
  cancel,
  batch,
  batchResults,
  listBatches,
  pullModel,
  exportModel,
  importModel,
  checkModel,
  prepareModel,
  listModels,
  removeModel,
  tune,
  deployVersion,
  promoteVersion,
  rollBackVersion,
  pauseRollout,
  resumeRollout,
  forgetRollout,
  listRollouts,
  models,
  pauseQueues,
  resumeQueues,
  queues,
  fleet,
  createKey,
  listKeys,
  limitKey,
  revokeKeys,
  usage,
  audit,
  logs,
  doctor,
];
