/**
 * A job's record: its state as the API reads it. create.lua writes the first state, transition.lua every later one.
 *
 *   create --> scheduled
 *                  | release
 *                  |   +----------- requeue ------------+
 *                  v   v                                |
 *   create --> queued --- start --> running ------------+--- succeed --> succeeded
 *                |                     | ^
 *                |                     | +-- start (a new attempt after a crash), progress
 *                |                     |
 *                +--------- fail ------+--> failed      every end is final: a record that has one
 *                +--------- cancel ----+--> canceled    never changes again
 *                +--------- expire ----+--> expired
 *
 * `output` announces a part of the result while the job still runs.
 * A job with a time is created as `scheduled`, and enters its queue by `release` at that time. It ends from there as a queued one does.
 * A job that may not start yet, because its tenant is paused or enough jobs of its concurrency key run, is parked: it is queued, but in no
 * queue, until `release` puts it there again.
 * `begin` is the start of a workflow, when its first node starts; a workflow itself has no attempts.
 * `start` begins an attempt: it may find the record queued, or still running if the worker of the last attempt died.
 * Every later move of an attempt names its lease, and moves of older attempts are refused as stale.
 */
import { z } from 'zod';
import { ERROR_CODES, type PlainError } from '../base/errors.ts';
import type { JobId, LeaseToken, TenantId, WorkerId } from '../base/ids.ts';
import { storedJson } from '../base/other-versions.ts';
import {
  ConcurrencySchema,
  JOB_TYPES,
  type JobError,
  JobErrorSchema,
  JobMetricsSchema,
  type JobState,
  MetadataSchema,
  PRIORITY_CLASSES,
  ProgressSchema,
} from '../contracts/job.ts';
import { SafetyVerdictSchema } from '../contracts/safety.ts';
import { TranscriptSchema } from '../contracts/speech-to-text.ts';
import { LabelScoreSchema, StoredTextOutputSchema } from '../contracts/text-output.ts';
import { PromptLengthsSchema } from '../contracts/text-to-image.ts';

/** Per move: the states it may start from, and the state it leads to. transition.lua is loaded with this table. */
export const MOVES = {
  release: { from: ['scheduled', 'queued'], to: 'queued' },
  start: { from: ['queued', 'running'], to: 'running' },
  begin: { from: ['queued'], to: 'running' },
  progress: { from: ['running'], to: 'running' },
  output: { from: ['running'], to: 'running' },
  requeue: { from: ['running'], to: 'queued' },
  succeed: { from: ['running'], to: 'succeeded' },
  fail: { from: ['scheduled', 'queued', 'running'], to: 'failed' },
  cancel: { from: ['scheduled', 'queued', 'running'], to: 'canceled' },
  expire: { from: ['scheduled', 'queued', 'running'], to: 'expired' },
} as const satisfies Record<string, { from: readonly JobState[]; to: JobState }>;

export type MoveName = keyof typeof MOVES;

const TERMINAL: readonly JobState[] = ['succeeded', 'failed', 'canceled', 'expired'];
export const isTerminal = (state: JobState): boolean => TERMINAL.includes(state);

/** Numbers arrive from a Redis hash as text. */
const number = z.coerce.number();
const id = <Id extends string>() => z.custom<Id>((value) => typeof value === 'string' && value.length > 0);

/** The error of a failed job: what a caller reads of it, and which fields of the input it names. */
const StoredErrorSchema = JobErrorSchema.extend({
  // A newer version may have written a code that this one does not know; the title and the detail still tell what happened.
  code: JobErrorSchema.shape.code.catch('internal'),
  /** Not on the wire as they stand: their pointers are into the native request, and a dialect uses other names. */
  problems: z.array(z.object({ pointer: z.string(), detail: z.string() })).optional(),
});
export type StoredError = z.output<typeof StoredErrorSchema>;

export function toStoredError({ code, message, problems }: PlainError): StoredError {
  const { title, retryable } = ERROR_CODES[code];
  return { code, title, detail: message, retryable, ...(problems && { problems: [...problems] }) };
}

export const toJobError = ({ problems: _, ...error }: StoredError): JobError => error;

/** One stored picture; the API turns the key into a link. */
const StoredImageSchema = z.object({
  key: z.string(),
  content_type: z.string(),
  width: z.int(),
  height: z.int(),
  bytes: z.int(),
  sha256: z.string(),
  /** Of a picture that was drawn. */
  seed: z.int().optional(),
  /** The key of its latent, when it stopped early. */
  latent: z.string().optional(),
  /** Of a picture that was checked. */
  safety: SafetyVerdictSchema.optional(),
});
export type StoredImage = z.output<typeof StoredImageSchema>;

/** A transcript. A long one is stored as an object (`key`), and only its text is kept here. */
const StoredTranscriptSchema = TranscriptSchema.partial({ segments: true }).extend({
  key: z.string().optional(),
});
export type StoredTranscript = z.output<typeof StoredTranscriptSchema>;

export const JobOutputSchema = z.object({
  images: z.array(StoredImageSchema).default([]),
  ...PromptLengthsSchema.shape,
  transcript: StoredTranscriptSchema.optional(),
  text: StoredTextOutputSchema.optional(),
  /** Of a model that classifies pictures, best first. */
  labels: z.array(LabelScoreSchema).optional(),
});
export type JobOutput = z.output<typeof JobOutputSchema>;

/** A workflow: its nodes, each with the job it is or will be. Their inputs are in the input of the workflow. */
const WorkflowStateSchema = z.object({
  nodes: z.array(
    z.object({
      id: z.string(),
      job: id<JobId>(),
      type: z.enum(JOB_TYPES),
      model: z.string(),
      queue: z.string(),
      cost: z.number(),
      after: z.array(z.string()),
      rollout: z.string().optional(),
    }),
  ),
  /** Of each node: the workflow itself runs nowhere. */
  concurrency: ConcurrencySchema.optional(),
});
export type WorkflowState = z.output<typeof WorkflowStateSchema>;

/** Of the input of a workflow: the inputs of its nodes in the order in which they were posted, complete but for their references. */
export const WorkflowInputSchema = z.looseObject({
  nodes: z.array(z.looseObject({ id: z.string(), input: z.record(z.string(), z.unknown()) })),
});

/** The dialect of the request that made a job; its webhooks use the same one. */
export const DIALECTS = ['native', 'replicate'] as const;
export type Dialect = (typeof DIALECTS)[number];

/** What pays for a job, as it was when the job was admitted: the key and its budget, and the weight of its tenant. */
const PayerSchema = z.object({
  key: z.string(),
  /** Engine ms per minute; null for a key without a budget. */
  budget_ms: z.number().nullable(),
  weight: z.number(),
});

/** Where a job's webhooks go. `signer` is the tenant whose secrets sign them. */
const StoredWebhookSchema = z.object({
  url: z.string(),
  events: z.array(z.string()),
  dialect: z.enum(DIALECTS),
  signer: id<TenantId>(),
});
export type StoredWebhook = z.output<typeof StoredWebhookSchema>;

const base = {
  /** SCHEMA_VERSION of the process that stored it; absent in a record that was not read from Redis. */
  v: number.optional(),
  id: id<JobId>(),
  tenant: id<TenantId>(),
  type: z.enum(JOB_TYPES),
  /** `name@version`. */
  model: z.string(),
  /** The group queue the job waits in. */
  queue: z.string(),
  priority: z.enum(PRIORITY_CLASSES),
  /** Estimated engine milliseconds. queue/reprice.lua changes it, too. */
  cost: number,
  payer: storedJson(PayerSchema).optional(),
  input: storedJson(z.record(z.string(), z.unknown())),
  metadata: storedJson(MetadataSchema),
  created_at: number,
  deadline_at: number.optional(),
  /** Of a job that was scheduled: when it enters its queue. */
  run_at: number.optional(),
  /** When it was last put into its queue, of a job that was scheduled or parked. */
  released_at: number.optional(),
  /** Its place in line (queue/score.ts). */
  score: number.optional(),
  /** Its start tag in fair queueing (queue/admit.lua); when the job starts, the virtual time of its class advances to it. */
  fair_tag: number.optional(),
  /**
   * When the request that stored this record was admitted. If storing takes too long, another request is admitted under the
   * same id; each recognises its own record by this time.
   */
  admitted_at: number.optional(),
  /** Types of the events that are sent as webhooks, separated by spaces. */
  hook_events: z.string().optional(),
  webhook: storedJson(StoredWebhookSchema).optional(),
  /** Of a workflow. */
  workflow: storedJson(WorkflowStateSchema).optional(),
  /** Of a node: the id of its workflow's job, and the node's id in it. */
  parent: id<JobId>().optional(),
  node: z.string().optional(),
  /** How many jobs of its tenant with this key may run at once. */
  concurrency: storedJson(ConcurrencySchema).optional(),
  /** While the job is parked: the tenant, or `<tenant>:<concurrency key>`, that it waits for. */
  parked: z.string().optional(),
  /** Present when checkpoints of it were stored (checkpoints.ts), until it ends. */
  checkpoint: z.string().optional(),
  /** The API process that holds the request which made it, until it ends; that process gets the ended record as a message. */
  held_by: z.string().optional(),
  /** Of a job of a batch: `<batch id> <number of its slice>`. Its end is counted in the batch (move-effects.lua). */
  batch: z.string().optional(),
  /** W3C traceparent of the request that made it; absent when that is not traced. */
  trace: z.string().optional(),
  /** The job that this one repeats. */
  retried_from: id<JobId>().optional(),
  /** Of an ended one: the last job that repeats it. */
  retried_as: id<JobId>().optional(),
  /** When a rollout chose its version: which one, and how its end is counted (rollout-share.ts). */
  rollout: z.string().optional(),
  /** Rises with every change; the job's ETag and the id of its last event. */
  rev: number,
  attempt: number,
};
/** A workflow itself runs on no worker; its nodes do. */
const started = { started_at: number, worker: id<WorkerId>().optional(), lease: id<LeaseToken>().optional() };
const ended = {
  finished_at: number,
  expires_at: number,
  started_at: number.optional(),
  worker: id<WorkerId>().optional(),
};

export const JobRecordSchema = z.discriminatedUnion('state', [
  z.object({ state: z.literal('scheduled'), ...base, run_at: number }),
  z.object({ state: z.literal('queued'), ...base, cancel_requested: z.literal('1').optional() }),
  z.object({
    state: z.literal('running'),
    ...base,
    ...started,
    progress: storedJson(ProgressSchema).optional(),
    cancel_requested: z.literal('1').optional(),
  }),
  z.object({
    state: z.literal('succeeded'),
    ...base,
    ...ended,
    output: storedJson(JobOutputSchema),
    metrics: storedJson(JobMetricsSchema),
  }),
  z.object({ state: z.literal('failed'), ...base, ...ended, error: storedJson(StoredErrorSchema) }),
  z.object({ state: z.literal('canceled'), ...base, ...ended }),
  z.object({ state: z.literal('expired'), ...base, ...ended }),
]);
export type JobRecord = z.output<typeof JobRecordSchema>;
/** A record without its input. */
export type JobOutline = JobRecord extends infer Each
  ? Each extends unknown
    ? Omit<Each, 'input'>
    : never
  : never;
/** Since when a job has waited for a worker, ms. */
export const waitingSince = ({ released_at, created_at }: JobOutline): number => released_at ?? created_at;
export const RECORD_FIELDS = [...new Set(JobRecordSchema.options.flatMap(({ shape }) => Object.keys(shape)))];

/** What a new record is made of; the script adds state, times, rev and attempt. */
export type NewJob = Pick<
  JobRecord,
  | 'id'
  | 'tenant'
  | 'type'
  | 'model'
  | 'queue'
  | 'priority'
  | 'cost'
  | 'payer'
  | 'input'
  | 'metadata'
  | 'deadline_at'
  | 'run_at'
  | 'score'
  | 'fair_tag'
  | 'admitted_at'
  | 'hook_events'
  | 'webhook'
  | 'workflow'
  | 'parent'
  | 'node'
  | 'retried_from'
  | 'held_by'
  | 'rollout'
  | 'batch'
  | 'concurrency'
  | 'trace'
>;
