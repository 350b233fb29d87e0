export { type JobFilter, listJobs, type Page } from './list.ts';
export {
  DIALECTS,
  type Dialect,
  isTerminal,
  type JobOutput,
  JobOutputSchema,
  type JobRecord,
  JobRecordSchema,
  MOVES,
  type MoveName,
  type NewJob,
  type StoredImage,
  type StoredTranscript,
  type StoredWebhook,
  type WorkflowState,
} from './record.ts';
export {
  type Move,
  type Outcome,
  type RecordChanges,
  RecordStore,
  type RecordStoreOptions,
  type StoredEvent,
} from './store.ts';
export { type StoredError, toJobError, toStoredError } from './stored-error.ts';
