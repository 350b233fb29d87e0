export { type Clock, systemClock, WakeUp } from './base/clock.ts';
export { addCounter, addHistogram, type Counts, CountsSchema, modelSuffix } from './base/counts.ts';
export { editDistance } from './base/edit-distance.ts';
export {
  ConfigError,
  ERROR_CODES,
  type ErrorCode,
  type FieldProblem,
  LehrError,
  type PlainError,
  toLehrError,
  toPlainError,
  unreachable,
} from './base/errors.ts';
export { every } from './base/every.ts';
export { Holdings } from './base/holdings.ts';
export { homeModelsFile, homeSecret, objectsFolder, PRIVATE_UMASK } from './base/home.ts';
export {
  type BatchId,
  batchFolderName,
  DEFAULT_TENANT,
  type FileId,
  fileIdOfBatch,
  firstJobIdAt,
  inputFolder,
  isBatchId,
  isFileId,
  isJobId,
  type JobId,
  JobIdSchema,
  jobIdOfAction,
  jobIdOfTick,
  jobIdsOfSlice,
  type LeaseToken,
  newBatchId,
  newFileId,
  newJobActionId,
  newJobId,
  newLeaseToken,
  newScheduleId,
  newWorkerId,
  type ObjectKey,
  outputFolder,
  type TenantId,
  timeOfId,
  toObjectKey,
  type WorkerId,
} from './base/ids.ts';
export { createLog, type Log, type LogLevel, logUncaught, silentLog } from './base/log.ts';
export { createMetrics, METRICS, type MetricApp, type Metrics, type MetricsPage } from './base/metrics.ts';
export { parsedStored, storedJson } from './base/other-versions.ts';
export { pngTexts, withPngText } from './base/png-text.ts';
export { RecentlyUsed } from './base/recently-used.ts';
export { type Backoff, backoffMs, retry } from './base/retry.ts';
export { TRACING_VARIABLES } from './base/tracing/variables.ts';
export { OWN_VERSION } from './base/version.ts';
export { ENV, envSchema, OTHER_VARIABLES, readConfig } from './config/env.ts';
export {
  type ModelsFile,
  ModelsWatch,
  type ModelsWatchOptions,
  readFamily,
  reloadOnHangUp,
} from './config/models-watch.ts';
export { readSettings, type Settings } from './config/settings.ts';
export { operationsAddress } from './config/variables/api.ts';
export * from './contracts/activity.ts';
export { AdaptersSchema, type AdapterUse, MAX_ADAPTER_SCALE, MAX_ADAPTERS } from './contracts/adapters.ts';
export * from './contracts/api-key.ts';
export * from './contracts/audit.ts';
export * from './contracts/batch.ts';
export * from './contracts/charts.ts';
export * from './contracts/control.ts';
export {
  DIFFUSION_FAMILIES,
  type DiffusionFamily,
  detectFamily,
  FAMILY_TRAITS,
  isRefiner,
  leastSteps,
} from './contracts/diffusion-family.ts';
export {
  type Alignment,
  type DiffusionGroup,
  formatModelRef,
  type Group,
  groupQueueName,
  type ModelRef,
  parseGroupQueueName,
  SLUG,
  TASKS,
  type Task,
  type TextGroup,
  type TransformGroup,
  type WhisperGroup,
} from './contracts/group.ts';
export { type Hires, isPlainUpscaler, PLAIN_UPSCALERS, passesOf } from './contracts/hires.ts';
export * from './contracts/job.ts';
export * from './contracts/job-action.ts';
export * from './contracts/job-event.ts';
export * from './contracts/job-request.ts';
export * from './contracts/media-source.ts';
export * from './contracts/model.ts';
export * from './contracts/operations.ts';
export * from './contracts/pause.ts';
export { type Expand, editStrength, MASK_FILLS, type MaskFill } from './contracts/picture-edit.ts';
export * from './contracts/picture-transform.ts';
export * from './contracts/problem.ts';
export type { PromptSyntax } from './contracts/prompts/weighted-prompt.ts';
export * from './contracts/queue.ts';
export * from './contracts/rollout.ts';
export {
  BATCH_RATIO,
  DOUBT_LIMIT,
  type EndedJobs,
  EVIDENCE_KINDS,
  EVIDENCE_LIMIT,
  type EvidenceKind,
  FALSE_ALARM_RATE,
  type JudgedBy,
  LEAST_SAMPLES,
  type LogEvidence,
  NO_EVIDENCE,
  type Pairs,
  type Samples,
  TOLERANCE,
  totalEvidence,
  type Verdict,
  verdictOf,
} from './contracts/rollouts/evidence.ts';
export * from './contracts/safety.ts';
export * from './contracts/scale.ts';
export * from './contracts/schedule.ts';
export * from './contracts/speech-to-text.ts';
export * from './contracts/text.ts';
export * from './contracts/text-output.ts';
export * from './contracts/text-to-image.ts';
export {
  type FormattedTranscript,
  formatTranscript,
  TRANSCRIPT_FORMATS,
  type TranscriptFormat,
} from './contracts/transcripts/formats.ts';
export { LANGUAGE_NAMES } from './contracts/transcripts/language-names.ts';
export * from './contracts/usage.ts';
export * from './contracts/webhook-request.ts';
export * from './contracts/webhooks.ts';
export * from './contracts/workflow.ts';
export {
  estimateTokens,
  type LaneSpeed,
  laneSpeed,
  speechCostMs,
  textCostMs,
  transformCostMs,
} from './fleet/costs.ts';
export {
  countWorkers,
  forgetApiProcess,
  forgetWorker,
  MAX_LANES,
  readApiProcesses,
  readFleet,
  readWorkerVersions,
  reportApiProcess,
  reportWorker,
  WORKER_TTL_MS,
  type WorkerStatus,
  WorkerStatusSchema,
  type WorkerVersion,
} from './fleet/fleet.ts';
export { FOLLOW_EVERY_MS, followJob, readPreview, showPreview, wantProgress } from './fleet/previews.ts';
export {
  MAX_RUNNING_REPORTED,
  type RunningReport,
  readRunning,
  reportRunning,
  WATCHED_EVERY_MS,
} from './fleet/running.ts';
export {
  NO_MEMORY,
  type PoolState,
  type ScaleDecision,
  type ScaleMemory,
} from './fleet/scaling/decision.ts';
export { desiredWorkers, startMsOf } from './fleet/scaling/desired-workers.ts';
export { limitsAt, type Pool, type ScalePolicy, ScalePolicySchema } from './fleet/scaling/policy.ts';
export { covers, DEFAULT_POOL, DEFAULT_POOLS, parsePools, type Served } from './fleet/scaling/pools.ts';
export {
  type ColdStart,
  endStarting,
  type ModelLoad,
  noteModelLoad,
  readModelLoads,
  readStarts,
  reportStarting,
  START_STAGES,
  type StartingWorker,
  type Starts,
} from './fleet/starting.ts';
export { claimStore, otherStore, type UsedStore } from './fleet/store-identity.ts';
export { slugOf } from './models/cache/source.ts';
export { companionRef, companionsOf, versionsOf } from './models/companions.ts';
export {
  OPTIMIZATIONS,
  type Optimization,
  TUNED_DEVICES,
  type Tuned,
  type TunedSettings,
} from './models/models-schema.ts';
export {
  fieldsOfModel,
  type NewVersion,
  withoutVersion,
  withPart,
  withTuned,
  withVersion,
} from './models/models-yaml.ts';
export {
  type DiffusionModelEntry,
  type ModelEntry,
  type ModelVersion,
  parseRegistry,
  Registry,
  type TextModelEntry,
  type TransformModelEntry,
  type WhisperModelEntry,
} from './models/registry.ts';
export { type Plan, type PlannedNode, planWorkflow } from './queue/workflow/plan.ts';
export { fillReferences, findReferences, pictureReference } from './queue/workflow/references.ts';
