/** How many workers a pool should have, for what starts and stops them: KEDA, `lehr fleet`. */
import { z } from 'zod';

/** Why a pool should have this many workers. A closed list. */
export const SCALE_REASONS = [
  'idle',
  'waiting',
  'arriving',
  'running',
  'holding',
  'min',
  'max',
  'budget',
  'schedule',
] as const;
export type ScaleReason = (typeof SCALE_REASONS)[number];

const count = z.int().nonnegative();

export const ScaleSchema = z
  .object({
    object: z.literal('scale'),
    pool: z.string().meta({ example: 'all' }),
    desired_workers: count.meta({ description: 'How many workers the pool should have now.' }),
    reason: z.enum(SCALE_REASONS).meta({
      description:
        'Why: work `waiting` above its target, work `arriving`, work `running`, `holding` what was needed a short time ago, `idle` ' +
        '(no work), or the limit that decided: `min`, `max`, `budget`, `schedule`.',
    }),
    explanation: z.string().meta({ example: '3: 41 s of work waits, target 15 s' }),
    workers: z
      .object({
        live: count.meta({ description: 'Workers that take jobs.' }),
        starting: count.meta({ description: 'Workers whose process runs and that do not serve yet.' }),
        draining: count.meta({ description: 'Workers that end their jobs and take no more.' }),
      })
      .meta({ description: 'Of the models of the pool.' }),
    running_jobs: count.meta({ description: 'Jobs that live workers have in hand.' }),
    waiting_s: z
      .object({ interactive: z.number(), standard: z.number(), bulk: z.number() })
      .meta({ description: 'Estimated engine seconds of the waiting jobs of each class.' }),
    start_s: z.number().nonnegative().meta({
      description: 'How long a worker takes until it serves: as measured, until then as configured.',
    }),
    members: z
      .array(
        z.object({
          id: z.string(),
          state: z.enum(['starting', 'live', 'draining', 'quarantined']),
          jobs: count.meta({ description: 'Jobs that it has in hand.' }),
        }),
      )
      .meta({ description: 'Which worker has no jobs, and so should be stopped first.' }),
  })
  .meta({ id: 'Scale' });
export type Scale = z.output<typeof ScaleSchema>;
