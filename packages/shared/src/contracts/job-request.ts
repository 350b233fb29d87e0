/** The request that creates a job. */
import { z } from 'zod';
import { ConcurrencySchema, MetadataSchema, PRIORITY_CLASSES } from './job.ts';
import { PictureTransformRequestSchema } from './picture-transform.ts';
import { SpeechToTextRequestSchema } from './speech-to-text.ts';
import {
  DURABILITIES,
  FillMaskRequestSchema,
  TextClassificationRequestSchema,
  TextEmbeddingRequestSchema,
  TokenClassificationRequestSchema,
} from './text.ts';
import { TextToImageRequestSchema } from './text-to-image.ts';
import { WebhookRequestSchema } from './webhook-request.ts';
import { SpeechToImageRequestSchema, WorkflowNodesSchema } from './workflow.ts';

const WEEK_S = 7 * 24 * 3600;
/** How far ahead a job may be scheduled. */
export const MAX_DELAY_S = 30 * 24 * 3600;

const common = {
  priority: z
    .enum(PRIORITY_CLASSES)
    .optional()
    .meta({
      description:
        'Jobs of a more urgent class always run first. Absent: `standard`, or the most urgent class that the key allows if that is ' +
        '`bulk`.',
    }),
  deadline_s: z.number().positive().max(WEEK_S).optional().meta({
    description: 'Seconds from now, or from `run_at`. A job that is not finished by then ends as `expired`.',
  }),
  run_at: z.iso.datetime({ offset: true }).optional().meta({
    description:
      'The job enters its queue at this time, at most 30 days ahead; until then its state is `scheduled`. A time that has passed is now.',
    example: '2026-12-24T22:00:00+01:00',
  }),
  delay_s: z.number().nonnegative().max(MAX_DELAY_S).optional().meta({
    description: 'As `run_at`, in seconds from now. Give one of the two.',
  }),
  concurrency: ConcurrencySchema.optional(),
  webhook: WebhookRequestSchema.optional(),
  metadata: MetadataSchema.default({}),
};

const model = z.string().min(1).max(200).optional().meta({
  description: '`name` or `name@version`. Absent: the default model of the task.',
  example: 'tiny-diffusion',
});

const request = <Type extends string, Input extends z.ZodType>(type: Type, input: Input) =>
  z.strictObject({ type: z.literal(type), model, input, ...common });

const textRequest = <Type extends string, Input extends z.ZodType>(type: Type, input: Input) =>
  z.strictObject({
    type: z.literal(type),
    model,
    input,
    durability: z
      .enum(DURABILITIES)
      .optional()
      .meta({
        description:
          '`none`: a small request that is held for its result may run without being stored. Its job cannot be read, listed, followed or ' +
          'retried, and ends with the request or with the processes that carry it. Default: `stored`.',
      }),
    ...common,
  });

export const JobRequestSchema = z
  .discriminatedUnion('type', [
    request('text-to-image', TextToImageRequestSchema),
    request('speech-to-text', SpeechToTextRequestSchema),
    request('picture-transform', PictureTransformRequestSchema),
    textRequest('text-embedding', TextEmbeddingRequestSchema),
    textRequest('text-classification', TextClassificationRequestSchema),
    textRequest('fill-mask', FillMaskRequestSchema),
    textRequest('token-classification', TokenClassificationRequestSchema),
    z.strictObject({
      type: z.literal('speech-to-image'),
      model: model.meta({
        description: 'Whisper model and diffusion model joined by `+`; either may be left out.',
        example: 'whisper-tiny+sd-turbo',
      }),
      input: SpeechToImageRequestSchema,
      ...common,
    }),
    z.strictObject({
      type: z.literal('workflow'),
      nodes: WorkflowNodesSchema,
      ...common,
    }),
  ])
  .meta({ id: 'JobRequest' });
export type JobRequest = z.output<typeof JobRequestSchema>;
