export { type Acceptance, Accepter, admittedJob } from './acceptance.ts';
export {
  type Admission,
  type AdmissionGroup,
  type AdmissionTerms,
  Admitter,
  type DuplicateRequest,
  type Idempotency,
  type OwnBacklog,
  type PricedJob,
  type TenantLimit,
} from './admission.ts';
export { AttemptStore, type Started } from './attempt-store.ts';
export { Claimer, type ClaimerOptions, type FullTenant, type GroupHead } from './claim.ts';
export {
  type GroupDepth,
  type GroupLoads,
  type LinesRead,
  meanWaitingCost,
  readDepths,
  readLoads,
  readOwnWaiting,
  readWaitingLines,
  type WaitingLine,
  type WaitingLines,
} from './depth.ts';
export type { Claim, GroupQueue, Lease, QueuedJob } from './group-queue.ts';
export { DEFAULT_LEASE_TIMES, GroupQueues, type LeaseTimes } from './group-queues.ts';
export {
  JANITOR_ACTIONS,
  Janitor,
  type JanitorAction,
  type JanitorOptions,
  recoverStalled,
  reviewUnreadable,
} from './janitor.ts';
export { Leases, type LeasesOptions } from './leases.ts';
export { isPausedBy, pauseOf, readPauses, SET_PAUSE_LUA } from './pauses.ts';
export { Prioritizer } from './prioritizer.ts';
export { expireOverdue, requeueLost } from './reconciler.ts';
export { Releaser, type ReleaserOptions } from './releaser.ts';
export { BUDGET_LUA, type Repriced, Repricer } from './reprice.ts';
export { GROUP_IDLE_MS, retireIdleGroups } from './retire.ts';
export { bullPriority, CLASS_SPAN, classOfScore, firstScore } from './score.ts';
export { WorkLock } from './work-lock.ts';
export { WORKFLOW_QUEUE, WorkflowRunner, type WorkflowRunnerOptions } from './workflow-runner.ts';
