/** What Lehr is doing now: the workers, the running batches with their samples, and who waits. */
import { z } from 'zod';
import { TASKS } from './group.ts';
import { PRIORITY_CLASSES } from './job.ts';

const count = z.int().nonnegative();

const RunningSampleSchema = z.object({
  id: z.string().meta({ description: 'Stays the same while the sample runs. It names no job.' }),
  step: z.number().meta({ description: 'Steps of a picture, seconds of audio, or texts that are done.' }),
  steps: z.number(),
  job: z.string().nullable().meta({ description: 'Null for a sample of another tenant.' }),
});

const ActivityLaneSchema = z.object({
  worker: z.string(),
  queue: z.string(),
  task: z.enum(TASKS),
  model: z.string().meta({ description: '`name@version`.' }),
  size: z.object({ width: count, height: count }).nullable().meta({ description: 'Of pictures.' }),
  rows: count.meta({ description: 'A picture with guidance has two rows.' }),
  row_cap: count,
  samples: z
    .array(RunningSampleSchema)
    .meta({ description: 'At most 128 of a worker. They follow a second or two after the first request.' }),
  more_samples: count.meta({ description: 'Samples that `samples` does not have.' }),
  rows_per_call: z.number().nullable().meta({
    description:
      'Mean rows that shared a call of the model in the last second, or up to three seconds before the first answer; null without calls.',
  }),
  calls_per_s: z.number().nonnegative(),
});

const ActivityWorkerSchema = z.object({
  id: z.string(),
  state: z.enum(['serving', 'draining', 'quarantined']),
  devices: z.array(z.string()).meta({ description: 'Providers of ONNX Runtime.', example: ['cuda'] }),
  models: z.array(z.string()),
  loading: z.array(z.string()).meta({ description: 'Models that it is loading while it runs.' }),
  can_load: z
    .array(z.string())
    .meta({ description: 'Models that it loads when jobs wait for them, because it has a memory budget.' }),
  unavailable: z.array(z.string()).meta({ description: 'Models that it should serve and cannot open.' }),
  problem: z.string().nullable().meta({ description: 'Why it cannot run all of its jobs.' }),
  last_error: z
    .object({ at: z.string(), message: z.string() })
    .nullable()
    .meta({ description: 'The last death of its engine.' }),
});

const WaitingQueueSchema = z.object({
  queue: z.string(),
  task: z.enum(TASKS),
  model: z.string(),
  size: z.object({ width: count, height: count }).nullable(),
  paused: z.boolean().meta({
    description: 'Whether none of these jobs is claimed, because an operator has paused the model.',
  }),
  jobs: z.object({ interactive: count, standard: count, bulk: count }),
  next: z
    .array(z.object({ priority: z.enum(PRIORITY_CLASSES), own: z.boolean() }))
    .meta({ description: 'The first 32 in line, in the order in which they are claimed.' }),
});

export const ActivitySchema = z
  .object({
    object: z.literal('activity'),
    at: z.string().meta({ description: 'When it was read; one reading serves all callers for a second.' }),
    workers: z.array(ActivityWorkerSchema),
    lanes: z.array(ActivityLaneSchema).meta({ description: 'The lanes that have samples or ran recently.' }),
    waiting: z.object({
      ms: count.meta({ description: 'Estimated engine time of all waiting jobs.' }),
      own_ms: count.meta({ description: 'The part of your tenant.' }),
      queues: z.array(WaitingQueueSchema).meta({ description: 'The 32 with the most engine time.' }),
      more_queues: count,
    }),
  })
  .meta({ id: 'Activity' });
export type Activity = z.output<typeof ActivitySchema>;
