/** Predictions as Replicate's clients send and read them. */
import { z } from '@hono/zod-openapi';
import { WebhookUrlSchema } from '@lehr/shared';
import { nullsAsAbsent } from '../without-nulls.ts';

const WEBHOOK_FILTERS = ['start', 'output', 'logs', 'completed'] as const;
export type WebhookFilter = (typeof WEBHOOK_FILTERS)[number];

const requestFields = {
  input: z.record(z.string(), z.unknown()).meta({
    description:
      'Pictures: `prompt`, `negative_prompt`, `width`, `height`, `num_outputs`, `num_inference_steps`, `guidance_scale`, ' +
      '`seed`, `output_format`, `image`, `mask`, `prompt_strength`. Speech: `audio`, `task`, `language`, `prompt`, `temperature`. Anything else is refused.',
    example: { prompt: 'a red circle on a blue background' },
  }),
  webhook: WebhookUrlSchema.optional(),
  webhook_events_filter: z.array(z.enum(WEBHOOK_FILTERS)).max(WEBHOOK_FILTERS.length).optional().meta({
    description: 'Absent: `output` and `completed`.',
  }),
};

const EXAMPLE = { input: { prompt: 'a red circle on a blue background', num_inference_steps: 8 } };

/** The model is in the path. */
export const PredictionRequestSchema = nullsAsAbsent(requestFields).meta({
  id: 'PredictionRequest',
  example: EXAMPLE,
});
export type PredictionRequest = z.output<typeof PredictionRequestSchema>;

export const VersionedRequestSchema = nullsAsAbsent({
  ...requestFields,
  version: z.string().min(1).max(200).meta({
    description: '`lehr/model`, `lehr/model:version`, or a version’s id, `model@version`.',
    example: 'lehr/tiny-diffusion',
  }),
}).meta({ id: 'VersionedPredictionRequest', example: { version: 'lehr/tiny-diffusion', ...EXAMPLE } });

export const PredictionSchema = z
  .object({
    id: z.string().meta({ description: 'The id of the job without its `job_`.' }),
    model: z.string(),
    version: z.string(),
    status: z.enum(['starting', 'processing', 'succeeded', 'failed', 'canceled']),
    input: z.record(z.string(), z.unknown()),
    output: z.unknown().meta({ description: 'Pictures: a list of links. Speech: text and segments.' }),
    error: z.string().nullable(),
    logs: z.string(),
    source: z.literal('api'),
    data_removed: z.boolean(),
    created_at: z.iso.datetime(),
    started_at: z.iso.datetime().nullable(),
    completed_at: z.iso.datetime().nullable(),
    deadline: z.iso.datetime().optional(),
    metrics: z.object({ predict_time: z.number(), total_time: z.number() }).optional(),
    urls: z.object({ get: z.url(), cancel: z.url(), web: z.url(), stream: z.url() }),
  })
  .meta({ id: 'Prediction' });
export type Prediction = z.output<typeof PredictionSchema>;

export const PredictionListSchema = z
  .object({
    results: z.array(PredictionSchema),
    next: z.url().nullable(),
    previous: z.null(),
  })
  .meta({ id: 'PredictionList' });
