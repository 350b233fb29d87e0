export {
  DIRECT_MS,
  DirectJobs,
  type EndedRecord,
  HANDED_BACK,
  MAX_DIRECT,
  MAX_DIRECT_COST_MS,
  type RunningRecord,
  readDirectJob,
} from './direct-jobs.ts';
