export {
  DIRECT_MS,
  DirectJobs,
  type EndedRecord,
  MAX_DIRECT,
  type RunningRecord,
  readDirectJob,
} from './direct-jobs.ts';
