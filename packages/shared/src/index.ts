export {
  forgetApiProcess,
  readApiProcesses,
  reportApiProcess,
} from './api-processes.ts';
export { type Clock, systemClock } from './clock.ts';
export { ConfigError } from './config/config-error.ts';
export { ENV, envSchema, OTHER_VARIABLES } from './config/env.ts';
export type { ModelsFile } from './config/models-file.ts';
export { ModelsWatch, type ModelsWatchOptions, reloadOnHangUp } from './config/models-watch.ts';
export { readConfig } from './config/read-config.ts';
export { readFamily } from './config/read-family.ts';
export { readSettings, type Settings, storeFaults } from './config/settings.ts';
export * from './contracts/activity.ts';
export * from './contracts/api-key.ts';
export * from './contracts/audit.ts';
export * from './contracts/charts.ts';
export * from './contracts/job.ts';
export * from './contracts/job-event.ts';
export * from './contracts/job-request.ts';
export * from './contracts/load-stages.ts';
export * from './contracts/media-source.ts';
export * from './contracts/model.ts';
export * from './contracts/operations.ts';
export * from './contracts/problem.ts';
export * from './contracts/queue.ts';
export * from './contracts/rollout.ts';
export type { RolloutAnalysis, VersionOutcomes } from './contracts/rollout-figures.ts';
export * from './contracts/scale.ts';
export * from './contracts/speech-to-text.ts';
export * from './contracts/text.ts';
export * from './contracts/text-input.ts';
export * from './contracts/text-output.ts';
export * from './contracts/text-to-image.ts';
export * from './contracts/webhook-request.ts';
export * from './contracts/webhooks.ts';
export * from './contracts/workflow.ts';
export { addCounter, addHistogram, type Counts, CountsSchema, modelSuffix } from './counts.ts';
export {
  DIFFUSION_FAMILIES,
  type DiffusionFamily,
  detectFamily,
  FAMILY_TRAITS,
  isRefiner,
  leastSteps,
} from './diffusion-family.ts';
export { editDistance } from './edit-distance.ts';
export {
  ERROR_CODES,
  type ErrorCode,
  type FieldProblem,
  LehrError,
  type PlainError,
  toLehrError,
  toPlainError,
  unreachable,
} from './errors.ts';
export { every } from './every.ts';
export {
  countWorkers,
  forgetWorker,
  MAX_LANES,
  readFleet,
  readWorkerVersions,
  reportWorker,
  WORKER_TTL_MS,
  type WorkerStatus,
  WorkerStatusSchema,
  type WorkerVersion,
} from './fleet.ts';
export {
  type Alignment,
  type DiffusionGroup,
  formatModelRef,
  type Group,
  groupQueueName,
  type ModelRef,
  parseGroupQueueName,
  SLUG,
  type Task,
  type TextGroup,
  type WhisperGroup,
} from './group.ts';
export { homeModelsFile, homeSecret, objectsFolder, PRIVATE_UMASK } from './home.ts';
export {
  DEFAULT_TENANT,
  type FileId,
  firstJobIdAt,
  inputFolder,
  isFileId,
  isJobId,
  type JobId,
  JobIdSchema,
  type LeaseToken,
  newFileId,
  newJobId,
  newLeaseToken,
  newWorkerId,
  type ObjectKey,
  outputFolder,
  type TenantId,
  toObjectKey,
  type WorkerId,
} from './ids.ts';
export { type LaneSpeed, laneSpeed } from './lane-speed.ts';
export { createLog, type Log, type LogLevel, logUncaught, silentLog } from './log.ts';
export { METRICS, type MetricApp } from './metric-lists/index.ts';
export { createMetrics, type Metrics, type MetricsPage } from './metrics.ts';
export { type ModelLoad, noteModelLoad, readModelLoads } from './model-loads.ts';
export { type NewVersion, withoutVersion, withTuned, withVersion } from './models-yaml.ts';
export { parsedStored } from './other-versions.ts';
export { FOLLOW_EVERY_MS, followJob, readPreview, showPreview, wantProgress } from './previews.ts';
export { RecentlyUsed } from './recently-used.ts';
export {
  type DiffusionModelEntry,
  type ModelEntry,
  type ModelVersion,
  parseRegistry,
  Registry,
  type TextModelEntry,
  type WhisperModelEntry,
} from './registry.ts';
export { type Backoff, backoffMs, retry } from './retry.ts';
export * from './rollouts/index.ts';
export {
  MAX_RUNNING_REPORTED,
  type RunningReport,
  readRunning,
  reportRunning,
  WATCHED_EVERY_MS,
} from './running.ts';
export * from './scaling/index.ts';
export { speechCostMs } from './speech-cost.ts';
export {
  type ColdStart,
  endStarting,
  readStarts,
  reportStarting,
  START_STAGES,
  type StartingWorker,
  type Starts,
} from './starting.ts';
export { claimStore, otherStore, type UsedStore } from './store-identity.ts';
export { estimateTokens, textCostMs } from './text-cost.ts';
export { TRACING_VARIABLES } from './tracing/variables.ts';
export {
  type FormattedTranscript,
  formatTranscript,
  TRANSCRIPT_FORMATS,
  type TranscriptFormat,
} from './transcripts/formats.ts';
export { LANGUAGE_NAMES } from './transcripts/language-names.ts';
export { OPTIMIZATIONS, type Optimization, TUNED_DEVICES, type Tuned, type TunedSettings } from './tuned.ts';
export { OWN_VERSION } from './version.ts';
export { type Plan, type PlannedNode, planWorkflow } from './workflow/plan.ts';
export { fillReferences, findReferences, pictureReference } from './workflow/references.ts';
