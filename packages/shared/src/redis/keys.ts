/**
 * The keys Lehr writes in Redis besides BullMQ's own, and those that only scripts know (planned.lua, start.lua,
 * move-effects.lua). All carry one hash tag, so that
 * scripts may touch several of them on a Redis Cluster too (one slot: Cluster gives no scale-out here).
 */

import type { FileId, JobId, TenantId, WorkerId } from '../base/ids.ts';
import type { JobState, PriorityClass } from '../contracts/job.ts';
import { type KeptKeys, keptKeys } from './kept-keys.ts';

export interface Keys extends KeptKeys {
  /** Also BullMQ's key prefix. */
  readonly prefix: string;
  record(id: JobId): string;
  /** A list of the job's events, oldest first. */
  events(id: JobId): string;
  /** The checkpoints of a job's unfinished pictures (records/checkpoints.ts). */
  checkpoints(id: JobId): string;
  /** Ids of all unfinished jobs, scored by creation time. */
  readonly live: string;
  /** Ids of a tenant's unfinished jobs, in order of id; also of nodes, of direct jobs, and of jobs that are not stored yet. */
  liveOf(tenant: TenantId): string;
  /** Ids of a tenant's running jobs. */
  runningOf(tenant: TenantId): string;
  /** Ids of unfinished jobs with a deadline, scored by it. */
  readonly deadlines: string;
  /** Ids of scheduled jobs, by when they enter their queues; and of parked jobs that may enter theirs. */
  readonly scheduledJobs: string;
  /** Ids of all jobs of a tenant, in order of id and so of creation. */
  jobsOf(tenant: TenantId): string;
  /** Those that ended in this state, in the same order; there is none for `succeeded`, the state of most. */
  endedOf(tenant: TenantId, state: JobState): string;
  /** Those with one label of the caller, by the digest of its name and value; in the same order. */
  labelledOf(tenant: TenantId, digest: string): string;
  /** `<when it failed, ms> <job id>` of the failed jobs of all tenants, without nodes of workflows. */
  readonly failed: string;
  /** Tenants that have jobs. */
  readonly tenants: string;
  /** Exists while a process removes ended jobs because Redis fills. */
  readonly boundingRecords: string;
  /**
   * `<tenant> <job id> <queue>` of deleted and removed jobs of which an output or a queue entry may be left, scored by when it is
   * due to be deleted.
   */
  readonly leftovers: string;
  /** Names of all group queues in use or used recently; also the channel that announces a new one. */
  readonly groups: string;
  /** Group queues of a model (`name@version`) that may have waiting jobs: the index in which workers look for work. */
  waiting(model: string): string;
  /** Group queues, by when the janitor looks next whether they are idle. */
  readonly groupLooks: string;
  /** Channel: this group queue was retired. */
  readonly retiredGroups: string;
  /** What is paused, by name, `name@version`, `*` or `tenant:<name>`: a hash. On the channel workers learn that they must hand its jobs back. */
  readonly pauses: string;
  /** Group queues that a tenant has used recently, by its latest admission. */
  groupsOf(tenant: TenantId): string;
  /** Estimated engine ms of the waiting jobs of a group, by priority class. */
  load(queue: string): string;
  /** Estimated engine ms of a tenant's waiting jobs, by model (`name@version`). */
  loadOf(tenant: TenantId): string;
  /** Fair queueing in a group: the virtual time of each class. */
  fair(queue: string): string;
  /** The start tag of each tenant's next job in a class of a group, where it is past the virtual time. */
  fairTags(queue: string, priority: PriorityClass): string;
  idempotency(hash: string): string;
  /** By job id, for admitted jobs whose record is not written yet: `<tenant>`, or `<tenant> <idempotency key>`. */
  readonly reserved: string;
  /** Jobs of requests that got no answer, for the next duplicate of the request; scored by expiry, `inf` while held. */
  unanswered(hash: string): string;
  /** `<tenant> <job id>` of unanswered jobs that are cancelled if no caller adopts them; scored by when that is. */
  readonly abandoned: string;
  /** Jobs of the calls of an API key in the dialect of the Stable Diffusion web UI, by when they were made. */
  webUiJobs(keyId: string): string;
  /** The model that an API key has chosen in that dialect. */
  webUiModel(keyId: string): string;
  /** Facts about an uploaded file. */
  file(tenant: TenantId, id: FileId): string;
  /** Ids of a tenant's files with a purpose, or with this one, by when they were made. */
  filesOf(tenant: TenantId, purpose?: string): string;
  /** Object keys of a tenant's uploads, by when they expire; the bytes of each; the bytes together and by hour. */
  stored(tenant: TenantId): string;
  storedBytes(tenant: TenantId): string;
  storage(tenant: TenantId): string;
  /** An API key. */
  apiKey(id: string): string;
  /** Ids of all API keys, by when they were made. */
  readonly apiKeys: string;
  /** Fingerprints of the peppers that the digests of API keys are made with. */
  readonly keyPeppers: string;
  /** The audit log, a stream. */
  readonly audit: string;
  /** The sessions of an API key, by the digests of their tokens. */
  sessions(keyId: string): string;
  /** A code that signs in once, by its digest. */
  signIn(digest: string): string;
  /** Which sign-in codes of an API key are valid: those of this generation, or all while there is none. */
  signInGeneration(keyId: string): string;
  /** What an API key has spent of its budget. */
  budget(id: string): string;
  /**
   * Webhook events that are not queued for delivery yet: `<job id> <event>`, by time. Also the channel that announces a new
   * one.
   */
  readonly outbox: string;
  /** One webhook event of a job: its body, its target and the state of its delivery. */
  delivery(job: JobId, event: string): string;
  /** All delivery attempts for events of this job. */
  attempts(job: JobId): string;
  /** `<job id> <event>` of unfinished deliveries, by when the next attempt is due. */
  readonly undelivered: string;
  /** Tenants with due deliveries above their share, by when a process last looked at them. */
  readonly deferred: string;
  /** `<job id> <event>` of these deliveries, by when they were due; they are not in `undelivered`. */
  deferredOf(tenant: TenantId): string;
  /** The secrets that sign a tenant's webhooks, encrypted, by when they stop signing. */
  hookSecrets(tenant: TenantId): string;
  /** Fingerprints of the keys that these secrets are encrypted with. */
  readonly secretKeys: string;
  /** Exists after a receiver answered that it wants no more deliveries; the hash is of tenant and URL. */
  hookGone(hash: string): string;
  /** Exists while a receiver is paused; the hash is of tenant and host. */
  hookPause(hash: string): string;
  /** Workflows that are due to be advanced: a node may be ready to start or the workflow may be over. Scored by time. */
  readonly workflows: string;
  /** Channel: the record of this job changed. */
  changed(id: JobId): string;
  /** Channel: the ends of jobs for which this API process holds a request. */
  ended(holder: string): string;
  /** Records and worker reports that a process could not read, with the reason: a hash by id. */
  readonly unreadable: string;
  /** Exists while a caller follows the job: its progress is written often. */
  followed(id: JobId): string;
  /** Exists while a caller wants previews of the job. */
  watched(id: JobId): string;
  /** The newest preview of a running job; also the channel that announces the next one. */
  preview(id: JobId): string;
  /** Channel: this worker should cancel a job it runs. */
  cancel(worker: WorkerId): string;
  /** Direct jobs that a worker has, by when they no longer count; also the channel on which it gets them. */
  direct(worker: WorkerId): string;
  /** A worker's private marker: adding to it ends the worker's blocking wait. */
  wake(worker: WorkerId): string;
  worker(id: WorkerId): string;
  /** What a worker runs, sample by sample; written while `runningWatched` exists. */
  runningOn(id: WorkerId): string;
  /** Exists while an API process asks for the running samples of all workers. */
  readonly runningWatched: string;
  /** Ids of API processes that have reported, and the report of one: its version and roles. */
  readonly apiProcesses: string;
  apiProcess(id: string): string;
  /** What API processes have counted, by process: a hash. Written while `runningWatched` exists. */
  readonly apiCounts: string;
  /** Ids of workers that have reported. */
  readonly workers: string;
  /** Ids of workers that are starting; of each, what it will serve and since when it starts. */
  readonly starting: string;
  startingWorker(id: WorkerId): string;
  /** How long the last start of a worker took, by model (`name@version`). */
  readonly coldStarts: string;
  /** How long the parts of loading a model took, as measured last: a hash by `name@version` and part. */
  readonly modelLoads: string;
  /** What the next decision on the size of a pool of workers needs of the earlier ones. */
  scale(pool: string): string;
  /** The rollout of each model, by its name. */
  readonly rollouts: string;
  /** What happened to the rollouts of a model, newest first. */
  rolloutHistory(model: string): string;
  /** How the jobs of a rollout, or of one of its stages, ended, by the version that they got. */
  rolloutOutcomes(rollout: string): string;
  /** Tenants whose jobs ended on a day (UTC), by its number from 1970; and what one of them used on it, by key and model (count-use.lua). */
  usageTenants(day: number): string;
  usage(day: number, tenant: TenantId): string;
  /** Held by the one process that judges rollouts. */
  readonly rolloutJudge: string;
  /** `<id> <place>` of the store that all processes use (store-identity.ts). */
  readonly storeId: string;
  /** Exists after a sweep of old outputs until the next one is due. */
  readonly sweep: string;
  /** Held by the one process that runs the janitor. */
  readonly janitor: string;
  /** Exists after a search for records without a job until the next one is due. */
  readonly reconciled: string;
  /** Written by readiness checks. */
  readonly probe: string;
}

export function keysOf(namespace: string): Keys {
  const prefix = `{${namespace}}`;
  return {
    prefix,
    ...jobKeys(prefix),
    tenants: `${prefix}:tenants`,
    boundingRecords: `${prefix}:bounding-records`,
    leftovers: `${prefix}:leftovers`,
    groups: `${prefix}:groups`,
    waiting: (model) => `${prefix}:waiting:${model}`,
    groupLooks: `${prefix}:group-looks`,
    retiredGroups: `${prefix}:groups:retired`,
    pauses: `${prefix}:pauses`,
    groupsOf: (tenant) => `${prefix}:groups-of:${tenant}`,
    load: (queue) => `${prefix}:load:${queue}`,
    loadOf: (tenant) => `${prefix}:load-of:${tenant}`,
    fair: (queue) => `${prefix}:fair:${queue}`,
    fairTags: (queue, priority) => `${prefix}:fair:${queue}:${priority}`,
    ...requestKeys(prefix),
    ...keptKeys(prefix),
    ...fileKeys(prefix),
    apiKey: (id) => `${prefix}:key:${id}`,
    apiKeys: `${prefix}:keys`,
    keyPeppers: `${prefix}:key-peppers`,
    audit: `${prefix}:audit`,
    sessions: (keyId) => `${prefix}:sessions:${keyId}`,
    signIn: (digest) => `${prefix}:sign-in:${digest}`,
    signInGeneration: (keyId) => `${prefix}:sign-in-generation:${keyId}`,
    budget: (id) => `${prefix}:budget:${id}`,
    ...webhookKeys(prefix),
    workflows: `${prefix}:workflows`,
    changed: (id) => `${prefix}:changed:${id}`,
    ended: (holder) => `${prefix}:ended:${holder}`,
    unreadable: `${prefix}:unreadable`,
    followed: (id) => `${prefix}:followed:${id}`,
    watched: (id) => `${prefix}:watched:${id}`,
    preview: (id) => `${prefix}:preview:${id}`,
    cancel: (worker) => `${prefix}:cancel:${worker}`,
    wake: (worker) => `${prefix}:wake:${worker}`,
    ...reportKeys(prefix),
    coldStarts: `${prefix}:cold-starts`,
    modelLoads: `${prefix}:model-loads`,
    scale: (pool) => `${prefix}:scale:${pool}`,
    ...rolloutKeys(prefix),
    usageTenants: (day) => `${prefix}:usage:${day}`,
    usage: (day, tenant) => `${prefix}:usage:${day}:${tenant}`,
    sweep: `${prefix}:sweep`,
    janitor: `${prefix}:janitor`,
    reconciled: `${prefix}:reconciled`,
    probe: `${prefix}:probe`,
  };
}

const fileKeys = (prefix: string): Pick<Keys, 'file' | 'filesOf' | 'stored' | 'storedBytes' | 'storage'> => ({
  file: (tenant, id) => `${prefix}:file:${tenant}:${id}`,
  filesOf: (tenant, purpose = '') => `${prefix}:files-of:${tenant}:${purpose}`,
  stored: (tenant) => `${prefix}:stored:${tenant}`,
  storedBytes: (tenant) => `${prefix}:stored-bytes:${tenant}`,
  storage: (tenant) => `${prefix}:storage:${tenant}`,
});

type JobKeys = Pick<
  Keys,
  | 'record'
  | 'events'
  | 'checkpoints'
  | 'live'
  | 'liveOf'
  | 'runningOf'
  | 'deadlines'
  | 'scheduledJobs'
  | 'jobsOf'
  | 'endedOf'
  | 'labelledOf'
  | 'failed'
>;

/** Jobs, and the lists in which they are found. */
const jobKeys = (prefix: string): JobKeys => ({
  record: (id) => `${prefix}:record:${id}`,
  events: (id) => `${prefix}:history:${id}`,
  checkpoints: (id) => `${prefix}:checkpoints:${id}`,
  live: `${prefix}:live`,
  liveOf: (tenant) => `${prefix}:live:${tenant}`,
  runningOf: (tenant) => `${prefix}:running:${tenant}`,
  deadlines: `${prefix}:deadlines`,
  scheduledJobs: `${prefix}:scheduled-jobs`,
  jobsOf: (tenant) => `${prefix}:jobs:${tenant}`,
  endedOf: (tenant, state) => `${prefix}:jobs:${tenant}:${state}`,
  labelledOf: (tenant, digest) => `${prefix}:labelled:${tenant}:${digest}`,
  failed: `${prefix}:failed`,
});

type RequestKeys = Pick<
  Keys,
  'idempotency' | 'reserved' | 'unanswered' | 'abandoned' | 'webUiJobs' | 'webUiModel'
>;

/** What is kept of requests: which job is whose, and what a caller has chosen for the next ones. */
const requestKeys = (prefix: string): RequestKeys => ({
  idempotency: (hash) => `${prefix}:idem:${hash}`,
  reserved: `${prefix}:reserved`,
  unanswered: (hash) => `${prefix}:unanswered:${hash}`,
  abandoned: `${prefix}:abandoned`,
  webUiJobs: (keyId) => `${prefix}:web-ui-jobs:${keyId}`,
  webUiModel: (keyId) => `${prefix}:web-ui-model:${keyId}`,
});

type RolloutKeys = Pick<Keys, 'rollouts' | 'rolloutHistory' | 'rolloutOutcomes' | 'rolloutJudge'>;

const rolloutKeys = (prefix: string): RolloutKeys => ({
  rollouts: `${prefix}:rollouts`,
  rolloutHistory: (model) => `${prefix}:rollout-history:${model}`,
  rolloutOutcomes: (rollout) => `${prefix}:rollout-outcomes:${rollout}`,
  rolloutJudge: `${prefix}:rollout-judge`,
});

/** What processes report of themselves, and the store that they share. */
const reportKeys = (
  prefix: string,
): Pick<
  Keys,
  | 'direct'
  | 'worker'
  | 'runningOn'
  | 'runningWatched'
  | 'apiProcesses'
  | 'apiProcess'
  | 'apiCounts'
  | 'workers'
  | 'storeId'
  | 'starting'
  | 'startingWorker'
> => ({
  direct: (worker) => `${prefix}:direct:${worker}`,
  worker: (id) => `${prefix}:worker:${id}`,
  runningOn: (id) => `${prefix}:worker:${id}:running`,
  runningWatched: `${prefix}:watched:running`,
  apiProcesses: `${prefix}:api-processes`,
  apiProcess: (id) => `${prefix}:api-process:${id}`,
  apiCounts: `${prefix}:api-counts`,
  workers: `${prefix}:workers`,
  storeId: `${prefix}:store-id`,
  starting: `${prefix}:starting`,
  startingWorker: (id) => `${prefix}:starting:${id}`,
});

type WebhookKeys = Pick<
  Keys,
  | 'outbox'
  | 'delivery'
  | 'attempts'
  | 'undelivered'
  | 'deferred'
  | 'deferredOf'
  | 'hookSecrets'
  | 'secretKeys'
  | 'hookGone'
  | 'hookPause'
>;

const webhookKeys = (prefix: string): WebhookKeys => ({
  outbox: `${prefix}:outbox`,
  delivery: (job, event) => `${prefix}:delivery:${job}:${event}`,
  attempts: (job) => `${prefix}:attempts:${job}`,
  undelivered: `${prefix}:undelivered`,
  deferred: `${prefix}:deferred`,
  deferredOf: (tenant) => `${prefix}:deferred:${tenant}`,
  hookSecrets: (tenant) => `${prefix}:hook-secrets:${tenant}`,
  secretKeys: `${prefix}:secret-keys`,
  hookGone: (hash) => `${prefix}:hook-gone:${hash}`,
  hookPause: (hash) => `${prefix}:hook-pause:${hash}`,
});
