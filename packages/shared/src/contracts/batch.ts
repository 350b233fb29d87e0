/** Batches: many requests that are kept, and made into jobs a few at a time. The answers have the form of OpenAI's batches. */
import { z } from 'zod';
import { AdaptersRequestSchema } from './adapters.ts';
import { JobSchema, MetadataSchema, PRIORITY_CLASSES } from './job.ts';
import { JobRequestSchema } from './job-request.ts';
import { SAMPLER_NAMES } from './text-to-image.ts';
import { BATCH_EVENTS, WebhookUrlSchema } from './webhook-request.ts';

export const BATCH_ENDPOINTS = [
  '/v1/jobs',
  '/v1/images/generations',
  '/v1/images/edits',
  '/v1/audio/transcriptions',
  '/v1/embeddings',
] as const;
export type BatchEndpointPath = (typeof BATCH_ENDPOINTS)[number];

/** The most lines of a file, and of a sweep. */
export const MAX_FILE_LINES = 50_000;
export const MAX_SWEEP_LINES = 100_000;
const MAX_REQUESTS = 10_000;
const MAX_VALUES_OF_AXIS = 10_000;
const MAX_WINDOW_H = 168;

const axis = <Schema extends z.ZodType>(value: Schema) =>
  z.array(value).min(1).max(MAX_VALUES_OF_AXIS).optional();

/** In the order in which they vary: the last one fastest. */
const SweepValuesSchema = z.strictObject({
  model: axis(z.string().min(1).max(200)),
  adapters: axis(AdaptersRequestSchema),
  prompt: axis(z.string()),
  sampler: axis(z.enum(SAMPLER_NAMES)),
  steps: axis(z.int()),
  guidance: axis(z.number()),
  seed: axis(z.int()),
});

export const SweepSchema = z
  .strictObject({
    request: z
      .record(z.string(), z.unknown())
      .meta({ description: 'What all jobs share: a JobRequest, which may lack what has a list of values.' }),
    values: SweepValuesSchema.refine(
      (values) => Object.keys(values).length > 0,
      'must have at least one list',
    ).meta({
      description:
        'Lists of values: every combination is one job. `model` replaces that of the request, the others the field of its input. The ' +
        'last of the lists that are given varies fastest, in the order model, adapters, prompt, sampler, steps, guidance, seed.',
    }),
  })
  .meta({ id: 'Sweep' });
export type Sweep = z.output<typeof SweepSchema>;

export const BatchRequestSchema = z
  .strictObject({
    input_file_id: z.string().optional().meta({
      description:
        'A file of JSON lines, uploaded with the purpose `batch`: `{custom_id, method, url, body}`.',
    }),
    endpoint: z
      .enum(BATCH_ENDPOINTS)
      .default('/v1/jobs')
      .meta({ description: 'Of all lines of the file. Requests and sweeps are for `/v1/jobs`.' }),
    requests: z.array(JobRequestSchema).min(1).max(MAX_REQUESTS).optional().meta({
      description: 'The jobs themselves, in place of a file.',
    }),
    sweep: SweepSchema.optional(),
    completion_window: z
      .string()
      .regex(/^[1-9]\d{0,2}h$/, 'must be hours, such as "24h"')
      .refine((value) => Number.parseInt(value, 10) <= MAX_WINDOW_H, `must be at most "${MAX_WINDOW_H}h"`)
      .default('24h')
      .meta({ description: 'What is not done by then is not run.', example: '24h' }),
    priority: z
      .enum(PRIORITY_CLASSES)
      .default('bulk')
      .meta({ description: 'Of the jobs whose request names none.' }),
    webhook: z.strictObject({ url: WebhookUrlSchema }).optional().meta({
      description: 'Gets one event when the batch has ended: `batch.` and its status, with the batch.',
    }),
    dry_run: z.boolean().default(false).meta({
      description: 'Only says what the batch would take, as a BatchEstimate. Nothing is made.',
    }),
    metadata: MetadataSchema.nullish().transform((value) => value ?? {}),
    // OpenAI's clients may send it; output files are kept as long as outputs are.
    output_expires_after: z.unknown().optional(),
  })
  .refine(
    ({ input_file_id, requests, sweep }) =>
      [input_file_id, requests, sweep].filter((each) => each !== undefined).length === 1,
    'must have one of: input_file_id, requests, sweep',
  )
  .refine(({ endpoint, input_file_id }) => input_file_id !== undefined || endpoint === '/v1/jobs', {
    path: ['endpoint'],
    message: 'must be /v1/jobs for requests and sweeps',
  })
  .meta({ id: 'BatchRequest' });
export type BatchRequest = z.output<typeof BatchRequestSchema>;

export const BATCH_STATUSES = [
  'validating',
  'failed',
  'in_progress',
  'finalizing',
  'completed',
  'expired',
  'cancelling',
  'cancelled',
] as const;

const BATCH_SOURCES = ['requests', 'sweep', 'file', 'retry'] as const;

const at = (what: string) =>
  z
    .int()
    .nullable()
    .meta({ description: `${what}, Unix seconds.` });

export const BatchSchema = z
  .object({
    id: z.string().meta({ example: 'batch_01jd3v9s6w0000000000000000' }),
    object: z.literal('batch'),
    endpoint: z.enum(BATCH_ENDPOINTS),
    errors: z
      .object({
        object: z.literal('list'),
        data: z.array(
          z.object({
            code: z.string(),
            message: z.string(),
            param: z.string().nullable(),
            line: z.int().nullable(),
          }),
        ),
      })
      .nullable()
      .meta({ description: 'Why the batch failed as a whole. Errors of lines are in the error file.' }),
    input_file_id: z.string().nullable(),
    source: z.enum(BATCH_SOURCES).meta({ description: 'Where its lines come from.' }),
    completion_window: z.string(),
    status: z.enum(BATCH_STATUSES),
    output_file_id: z.string().nullable().meta({
      description: 'What succeeded, when the batch has ended: JSON lines in the order of the input.',
    }),
    error_file_id: z.string().nullable().meta({ description: 'What did not, in the same form.' }),
    created_at: z.int(),
    in_progress_at: at('When its first job was made'),
    expires_at: z.int(),
    finalizing_at: at('When its last job was made or it was to end'),
    completed_at: at('When it was completed'),
    failed_at: at('When it failed'),
    expired_at: at('When it expired'),
    cancelling_at: at('When its cancellation was asked for'),
    cancelled_at: at('When it was cancelled'),
    request_counts: z.object({
      total: z.int().meta({ description: '0 while the file is being checked.' }),
      completed: z.int(),
      failed: z.int(),
    }),
    metadata: MetadataSchema,
    priority: z.enum(PRIORITY_CLASSES),
    webhook: z.object({ url: z.string() }).nullable(),
    retried_from: z.string().nullable().meta({ description: 'The batch whose failed lines these are.' }),
  })
  .meta({ id: 'Batch' });
export type Batch = z.output<typeof BatchSchema>;

/** What a batch tells those who follow it, and its receiver. */
export const BatchEventSchema = z
  .object({
    type: z.enum(['batch.progress', ...BATCH_EVENTS]),
    timestamp: z.iso.datetime(),
    data: BatchSchema,
  })
  .meta({ id: 'BatchEvent' });
export type BatchEvent = z.output<typeof BatchEventSchema>;

export const BatchEstimateSchema = z
  .object({
    object: z.literal('batch.estimate'),
    total: z.int().meta({ description: 'The jobs that the batch would have.' }),
    priced: z.int().meta({
      description:
        'How many different ones were priced: of a sweep, combinations of model, adapters, sampler, steps and guidance.',
    }),
    is_sample: z.boolean().meta({ description: 'There are more, and these are spread evenly over them.' }),
    refused: z.int().meta({ description: 'Of those that were priced, how many would be refused.' }),
    device_s: z.number().meta({
      description:
        'About how many seconds of one device all jobs take, by the speeds that the workers have measured.',
    }),
    duration_s: z.number().nullable().meta({
      description:
        'As long as the workers that serve the models now would need for it, if they did nothing else. Null when a model has none.',
    }),
    price: z.number().optional().meta({
      description: 'Of the device time, at the price now in force. Absent when the operator states none.',
    }),
    currency: z.string().optional(),
  })
  .meta({ id: 'BatchEstimate' });
export type BatchEstimate = z.output<typeof BatchEstimateSchema>;

export const BatchListSchema = z
  .object({
    object: z.literal('list'),
    data: z.array(BatchSchema),
    first_id: z.string().nullable(),
    last_id: z.string().nullable(),
    has_more: z.boolean(),
  })
  .meta({ id: 'BatchList' });

/** What has become of a line. */
const BatchLineSchema = z
  .object({
    line: z.int().meta({ description: 'Its number in the batch, from 1.' }),
    custom_id: z.string(),
    values: z.record(z.string(), z.unknown()).optional().meta({
      description: 'Of a sweep: the value of each list that this line has.',
    }),
    // Absent before it is made, and of a line that got none.
    job: JobSchema.optional(),
    error: z
      .object({ code: z.string(), message: z.string() })
      .optional()
      .meta({ description: 'Why there is no job.' }),
  })
  .meta({ id: 'BatchLine' });
export type BatchLine = z.output<typeof BatchLineSchema>;

export const BatchLineListSchema = z
  .object({ data: z.array(BatchLineSchema), next_cursor: z.string().nullable(), has_more: z.boolean() })
  .meta({ id: 'BatchLineList' });
