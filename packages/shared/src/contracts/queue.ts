/** How full the group queues are and who serves them. */
import { z } from 'zod';

export const QueueSchema = z
  .object({
    name: z.string().meta({ example: 'diffusion.tiny-diffusion@1.64x64' }),
    task: z.enum(['diffusion', 'whisper']),
    model: z.string().meta({ description: '`name@version`.' }),
    waiting: z.int().nonnegative(),
    running: z.int().nonnegative(),
    oldest_age_ms: z.int().nonnegative().nullable().meta({
      description: 'How long the job that has waited longest has waited.',
    }),
    workers: z.int().nonnegative().meta({ description: 'Live workers that serve the group.' }),
    lanes: z
      .array(
        z.object({
          worker: z.string(),
          samples: z.int(),
          rows: z.int(),
          row_cap: z.int(),
          row_steps_per_s: z.number(),
        }),
      )
      .meta({ description: 'The running batches of the group.' }),
  })
  .meta({ id: 'Queue' });
export type Queue = z.output<typeof QueueSchema>;

export const QueueListSchema = z
  .object({ object: z.literal('list'), data: z.array(QueueSchema) })
  .meta({ id: 'QueueList' });
export type QueueList = z.output<typeof QueueListSchema>;
