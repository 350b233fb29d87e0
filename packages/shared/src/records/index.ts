export {
  type Checkpoint,
  CheckpointStore,
  type CheckpointStoreOptions,
  type JobOfCheckpoint,
} from './checkpoints.ts';
export { JobList, type ListQuery, type Page } from './list.ts';
export {
  DIALECTS,
  type Dialect,
  isTerminal,
  type JobOutline,
  type JobOutput,
  JobOutputSchema,
  type JobRecord,
  JobRecordSchema,
  MOVES,
  type MoveName,
  type NewJob,
  type StoredError,
  type StoredImage,
  type StoredTranscript,
  type StoredWebhook,
  toJobError,
  toStoredError,
  WorkflowInputSchema,
  type WorkflowState,
} from './record.ts';
export {
  type EndedJob,
  encodeRecord,
  hashOf,
  type Outcome,
  parseEndedJob,
  parseStoredRecord,
  type StoredEvent,
} from './replies.ts';
export {
  BUCKET_RATIO,
  formatShare,
  type Outcomes,
  parseOutcomes,
  parsePairs,
  type RolloutShare,
  type RolloutSide,
  type SideOutcomes,
  stageName,
} from './rollout-share.ts';
export {
  APPLY_LUA,
  CREATE_LUA,
  type Created,
  encodeMove,
  type FoundRecords,
  IS_PAUSED_LUA,
  type Move,
  PLANNED_LUA,
  type RecordChanges,
  RecordStore,
  type RecordStoreOptions,
  storedFields,
} from './store.ts';
export { isNewer, reasonOf, SCHEMA_VERSION, type Unreadable, UnreadableList } from './unreadable.ts';
