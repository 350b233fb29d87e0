/** The job as a caller sees it. The API serves these schemas, and its OpenAPI document is made from them. */
import { z } from 'zod';
import { ERROR_CODES, type ErrorCode } from '../base/errors.ts';
import { SafetyVerdictSchema } from './safety.ts';
import { TranscriptSchema } from './speech-to-text.ts';
import { TEXT_JOB_TYPES } from './text.ts';
import { TextOutputSchema } from './text-output.ts';
import { PromptLengthsSchema } from './text-to-image.ts';
import { WebhookSchema } from './webhook-request.ts';

export const JOB_TYPES = [
  'text-to-image',
  'speech-to-text',
  'speech-to-image',
  ...TEXT_JOB_TYPES,
  'picture-transform',
  'workflow',
] as const;
export type JobType = (typeof JOB_TYPES)[number];

export const JOB_STATES = [
  'scheduled',
  'queued',
  'running',
  'succeeded',
  'failed',
  'canceled',
  'expired',
] as const;
export type JobState = (typeof JOB_STATES)[number];
export const JobStateSchema = z.enum(JOB_STATES);

/** Most urgent first. Tenants share the workers inside a class. */
export const PRIORITY_CLASSES = ['interactive', 'standard', 'bulk'] as const;
export type PriorityClass = (typeof PRIORITY_CLASSES)[number];
/** 0 for the most urgent class. */
export const urgencyOf = (priority: PriorityClass): number => PRIORITY_CLASSES.indexOf(priority);

const label = (max: number) =>
  z
    .string()
    .max(max)
    .refine((text) => !text.includes('\0'), 'must not contain a null byte');

/** zod drops this name, so it is refused. */
const refuseProto = (value: unknown, { addIssue }: z.RefinementCtx): unknown => {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, '__proto__')) return value;
  addIssue({ code: 'custom', path: ['__proto__'], message: 'cannot be the name of a label' });
  return value;
};

/** Labels of the caller: short strings, returned unchanged. */
export const MetadataSchema = z
  .preprocess(
    refuseProto,
    z
      .record(label(64).min(1), label(512))
      .refine((metadata) => Object.keys(metadata).length <= 32, 'must have at most 32 keys'),
  )
  .meta({ description: 'Your own labels, at most 32; returned unchanged.', example: { order: '81' } });

/** A limit that the caller sets for its own jobs. */
export const ConcurrencySchema = z
  .strictObject({
    key: z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9._:@/-]{0,63}$/, 'must match [A-Za-z0-9][A-Za-z0-9._:@/-]{0,63}'),
    max: z.int().min(1).max(1000),
  })
  .meta({
    id: 'Concurrency',
    description:
      'At most `max` jobs of the tenant with this `key` run at once; the others wait, and delay no other job. Of a workflow: of its nodes.',
    example: { key: 'customer-42', max: 2 },
  });
export type Concurrency = z.output<typeof ConcurrencySchema>;

/** How long each part of a text-to-image job took, ms. They sum to `total_ms`. */
export const TimingsSchema = z
  .object({
    queued: z.number().meta({ description: 'From the request until a worker took the job.' }),
    admitted: z.number().meta({ description: 'From then until its first step, without the text encoding.' }),
    text: z.number().meta({ description: 'Encoding the prompts.' }),
    denoise: z
      .number()
      .meta({ description: 'From the first step of the first picture to the last step of the last.' }),
    decode: z
      .number()
      .meta({ description: 'Decoding latents into pixels, including the wait for the decoder.' }),
    encode: z.number().meta({ description: 'Encoding pixels into files; with `safety`, also their check.' }),
    upload: z.number().meta({ description: 'Writing the files to the store.' }),
  })
  .meta({ id: 'Timings' });
export type Timings = z.output<typeof TimingsSchema>;

/** How long each part of a speech-to-text job took, ms. They sum to `total_ms`. */
export const SpeechTimingsSchema = z
  .object({
    queued: z.number().meta({ description: 'From the request until a worker took the job.' }),
    fetch: z.number().meta({ description: 'Fetching the audio.' }),
    decode: z.number().meta({ description: 'Decoding it into a waveform.' }),
    transcribe: z
      .number()
      .meta({ description: 'From the first window to the last segment, including waits.' }),
    store: z.number().meta({ description: 'Writing the transcript.' }),
  })
  .meta({ id: 'SpeechTimings' });
export type SpeechTimings = z.output<typeof SpeechTimingsSchema>;

/** How long each part of a text job took, ms. They sum to `total_ms`. */
export const TextTimingsSchema = z
  .object({
    queued: z.number().meta({ description: 'From the request until a worker took the job.' }),
    tokenize: z.number().meta({ description: 'Reading the texts and making tokens of them.' }),
    wait: z.number().meta({ description: 'From then until its first texts entered the graph.' }),
    run: z.number().meta({ description: 'From then until its last text was done.' }),
    store: z.number().meta({ description: 'Writing a large result; of a small one 0.' }),
  })
  .meta({ id: 'TextTimings' });
export type TextTimings = z.output<typeof TextTimingsSchema>;

/** How long each part of a picture-transform job took, ms. They sum to `total_ms`. */
export const TransformTimingsSchema = z
  .object({
    queued: z.number().meta({ description: 'From the request until a worker took the job.' }),
    fetch: z.number().meta({ description: 'Fetching the picture and decoding it into pixels.' }),
    wait: z.number().meta({ description: 'From then until its first tile entered the graph.' }),
    run: z.number().meta({ description: 'From then until its last tile was done.' }),
    encode: z.number().meta({ description: 'Encoding the result into a file; of labels 0.' }),
    upload: z.number().meta({ description: 'Writing the file to the store; of labels 0.' }),
  })
  .meta({ id: 'TransformTimings' });
export type TransformTimings = z.output<typeof TransformTimingsSchema>;

/** How long each part of a workflow took, ms; its nodes have their own timings. They sum to `total_ms`. */
export const WorkflowTimingsSchema = z
  .object({
    queued: z.number().meta({ description: 'Until the first node started.' }),
    nodes: z.number().meta({ description: 'From then until the last node ended.' }),
  })
  .meta({ id: 'WorkflowTimings' });

export const JobMetricsSchema = z
  .object({
    queue_ms: z.number(),
    run_ms: z.number(),
    total_ms: z.number(),
    batch_size: z.number().nullable().meta({
      description:
        "Mean number of samples, windows, texts or tiles that shared this job's graph runs; null for a workflow.",
    }),
    worker: z.string().nullable(),
    timings: z.union([
      TimingsSchema,
      SpeechTimingsSchema,
      TextTimingsSchema,
      TransformTimingsSchema,
      WorkflowTimingsSchema,
    ]),
    device_ms: z
      .number()
      .optional()
      .meta({
        description:
          "Device time of the job's own steps and graph runs; of what it shared with other jobs, its share. Without waits, so it does not " +
          'depend on what else runs. Absent for a workflow, and for pictures that continued from a checkpoint.',
      }),
    audio_seconds: z.number().optional().meta({ description: 'Seconds of audio transcribed.' }),
  })
  .meta({ id: 'JobMetrics' });
export type JobMetrics = z.output<typeof JobMetricsSchema>;

export const ProgressSchema = z
  .object({
    fraction: z.number().min(0).max(1),
    stage: z.enum(['text', 'denoise', 'decode', 'upload', 'audio', 'transcribe', 'transform', 'nodes']),
    step: z.int().nonnegative(),
    steps: z.int().positive(),
  })
  .meta({ id: 'Progress' });
export type Progress = z.output<typeof ProgressSchema>;

export const JobErrorSchema = z
  .object({
    code: z.enum(Object.keys(ERROR_CODES) as [ErrorCode, ...ErrorCode[]]),
    title: z.string(),
    detail: z.string(),
    retryable: z.boolean().meta({ description: 'Whether the same job may succeed when it is posted again.' }),
  })
  .meta({ id: 'JobError' });
export type JobError = z.output<typeof JobErrorSchema>;

export const ImageSchema = z
  .object({
    url: z.url().meta({
      description: 'Signed: gives read access until `expires_at`. Get the job again for a new link.',
    }),
    content_type: z.string(),
    width: z.int(),
    height: z.int(),
    bytes: z.int(),
    sha256: z.string(),
    seed: z.int().optional().meta({ description: 'Of a picture that was drawn.' }),
    latent_url: z.url().optional().meta({
      description: 'Of a picture with `denoising_end`: its latent as a safetensors file, signed as `url` is.',
    }),
    safety: SafetyVerdictSchema.optional().meta({
      description: 'What the check of the picture says, where the operator has it checked.',
    }),
    expires_at: z.iso.datetime(),
  })
  .meta({ id: 'Image' });

/** The output of a job: images, a transcript, or both; the result of a text task; or the labels of a picture. */
export const JobOutputsSchema = z
  .object({
    images: z.array(ImageSchema).optional(),
    ...PromptLengthsSchema.shape,
    ...TranscriptSchema.partial().shape,
    ...TextOutputSchema.shape,
  })
  .meta({ id: 'JobOutputs' });
export type JobOutputs = z.output<typeof JobOutputsSchema>;

/** One node of a workflow. A node that has not started has no job yet. */
export const NodeStateSchema = z
  .object({
    id: z.string(),
    type: z.enum(JOB_TYPES),
    model: z.string(),
    job: z.string().nullable(),
    status: z.enum(['waiting', ...JOB_STATES]),
    progress: ProgressSchema.nullable(),
    output: JobOutputsSchema.nullable(),
    error: JobErrorSchema.nullable(),
    metrics: JobMetricsSchema.nullable(),
  })
  .meta({ id: 'NodeState' });
export type NodeState = z.output<typeof NodeStateSchema>;

export const JobSchema = z
  .object({
    id: z.string().meta({ example: 'job_01jd3v9s6w0000000000000000' }),
    object: z.literal('job'),
    type: z.enum(JOB_TYPES),
    model: z.string().meta({ description: '`name@version` that runs the job.' }),
    status: JobStateSchema,
    priority: z.enum(PRIORITY_CLASSES),
    attempt: z
      .int()
      .nonnegative()
      .meta({ description: 'Attempts started so far; a crash of a worker costs one.' }),
    created_at: z.iso.datetime(),
    started_at: z.iso.datetime().nullable(),
    finished_at: z.iso.datetime().nullable(),
    expires_at: z.iso
      .datetime()
      .nullable()
      .meta({ description: 'When the record of a finished job is deleted.' }),
    deadline_at: z.iso.datetime().nullable(),
    run_at: z.iso.datetime().optional().meta({
      description:
        'Of a job with `run_at` or `delay_s`: it is `scheduled` until then, and enters its queue at that time.',
    }),
    concurrency: ConcurrencySchema.optional(),
    waits_for: z
      .enum(['concurrency', 'tenant', 'model'])
      .optional()
      .meta({
        description:
          'Why a `queued` job does not get its turn: enough jobs of its `concurrency` key run, or an operator has paused its tenant or its model. In ' +
          'the first two cases it has no place in its queue.',
      }),
    queue: z
      .object({
        position: z.int().positive(),
        eta_ms: z.int().nonnegative().nullable(),
        worker_in_ms: z.int().nonnegative().optional().meta({
          description:
            'While no worker serves the model and one starts, or is about to: the estimated ms until it serves.',
        }),
      })
      .nullable()
      .meta({
        description:
          'While the job waits: its place in line, and the estimated ms until it is done, if a worker serves it or starts and its model is not paused.',
      }),
    progress: ProgressSchema.nullable(),
    input: z.record(z.string(), z.unknown()),
    output: JobOutputsSchema.nullable(),
    error: JobErrorSchema.nullable(),
    metrics: JobMetricsSchema.nullable(),
    webhook: WebhookSchema.nullable(),
    metadata: MetadataSchema,
    nodes: z.array(NodeStateSchema).optional().meta({ description: 'Of a workflow.' }),
    retried_from: z.string().optional().meta({ description: 'The job that this one repeats.' }),
    links: z.object({
      self: z.url(),
      events: z.url().meta({ description: 'Server-sent events, read with your API key.' }),
      events_signed: z.url().meta({
        description:
          'The same for clients that send no key, such as browsers: the link is signed and expires.',
      }),
      cancel: z.url(),
    }),
  })
  .meta({ id: 'Job' });
export type Job = z.output<typeof JobSchema>;

export const JobListSchema = z
  .object({
    data: z.array(JobSchema),
    next_cursor: z.string().nullable().meta({ description: 'For `?cursor=`; null on the last page.' }),
    has_more: z.boolean(),
  })
  .meta({ id: 'JobList' });
export type JobList = z.output<typeof JobListSchema>;
