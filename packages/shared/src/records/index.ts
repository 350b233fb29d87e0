export { type JobFilter, listJobs, type Page } from './list.ts';
export {
  isTerminal,
  type JobOutput,
  JobOutputSchema,
  type JobRecord,
  JobRecordSchema,
  MOVES,
  type MoveName,
  type NewJob,
  type StoredImage,
} from './record.ts';
export { type Move, type Outcome, RecordStore, type RecordStoreOptions, type StoredEvent } from './store.ts';
