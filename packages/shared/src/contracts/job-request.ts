/** What a caller posts to have a job made. */
import { z } from 'zod';
import { MetadataSchema, PRIORITY_CLASSES } from './job.ts';
import { TextToImageRequestSchema } from './text-to-image.ts';
import { WebhookRequestSchema } from './webhook-request.ts';

const WEEK_S = 7 * 24 * 3600;

export const JobRequestSchema = z
  .strictObject({
    type: z.literal('text-to-image'),
    model: z.string().min(1).max(200).optional().meta({
      description: '`name` or `name@version`. Absent: the default model of the task.',
      example: 'tiny-diffusion',
    }),
    input: TextToImageRequestSchema,
    priority: z.enum(PRIORITY_CLASSES).default('standard').meta({
      description: 'Jobs of a more urgent class always go first.',
    }),
    deadline_s: z.number().positive().max(WEEK_S).optional().meta({
      description:
        'Seconds from now after which the result is worth nothing: the job then ends as `expired`.',
    }),
    webhook: WebhookRequestSchema.optional(),
    metadata: MetadataSchema.default({}),
  })
  .meta({ id: 'JobRequest' });
export type JobRequest = z.output<typeof JobRequestSchema>;
