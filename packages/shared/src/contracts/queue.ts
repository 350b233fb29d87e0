/** The group queues: how full they are, which workers serve them, and whether new jobs are taken. */
import { z } from 'zod';
import { TASKS } from './group.ts';
import { PRIORITY_CLASSES } from './job.ts';

/**
 * The parts of making a model ready, in their order: fetching its folder, loading its graphs, its warm-up, and the first job that the open
 * model ran to its end, from its claim on.
 */
export const LOAD_STAGES = ['pull', 'open', 'warm-up', 'first-answer'] as const;
export type LoadStage = (typeof LOAD_STAGES)[number];

/** A circuit breaker. `closed`: jobs of every class are taken; `partly-open`: only of the more urgent ones; `open`: none. */
export const BREAKER_STATES = ['closed', 'partly-open', 'open'] as const;
export type BreakerState = (typeof BREAKER_STATES)[number];
const breaker = z.enum(BREAKER_STATES).meta({
  description:
    'Whether new jobs are taken: of every class (`closed`), only of the more urgent ones (`partly-open`), or none (`open`). A ' +
    'job is refused with 503 when it would wait longer than LEHR_MAX_WAIT_S.',
});

const paused = z
  .boolean()
  .meta({ description: 'Whether no job of it is claimed, because an operator has paused it.' });

export const QueueSchema = z
  .object({
    name: z.string().meta({ example: 'diffusion.tiny-diffusion@1.64x64' }),
    task: z.enum(TASKS),
    model: z.string().meta({ description: '`name@version`.' }),
    waiting: z.int().nonnegative(),
    running: z.int().nonnegative(),
    oldest_age_ms: z.int().nonnegative().nullable().meta({
      description: 'Age of the oldest waiting job.',
    }),
    workers: z.int().nonnegative().meta({ description: 'Live workers that serve the group.' }),
    wait_ms: z.record(z.enum(PRIORITY_CLASSES), z.int().nonnegative()).nullable().meta({
      description: 'Estimated wait of a new job of each class; null without workers, and while it is paused.',
    }),
    breaker,
    paused,
    lanes: z
      .array(
        z.object({
          worker: z.string().meta({
            description: 'With a key of the scope `admin`, it starts with the host name of the worker.',
          }),
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
  .object({
    object: z.literal('list'),
    data: z.array(QueueSchema),
    models: z
      .array(
        z.object({
          model: z.string(),
          workers: z.int().nonnegative(),
          breaker,
          paused,
          problem: z.string().nullable().meta({
            description: 'Why a live worker cannot open the model; null when all that should serve it do.',
          }),
          can_load: z.int().nonnegative().meta({
            description:
              'Live workers that do not have the model loaded and load it when jobs wait, because they have a memory budget.',
          }),
          load_ms: z.partialRecord(z.enum(LOAD_STAGES), z.int().nonnegative()).meta({
            description:
              'How long each part of making the model ready took, as a worker measured it last: fetching its folder, loading its graphs, ' +
              'its warm-up, and the first job after that, from its claim to its end. A part that was not measured is absent.',
          }),
          bytes: z.int().nonnegative().nullable().meta({
            description:
              'By how much the memory of a worker grew when it opened the model, without that of a GPU; null if unknown.',
          }),
        }),
      )
      .meta({ description: 'Every offered model version, with the worst breaker of its groups.' }),
    paused_tenants: z.array(z.string()).meta({
      description:
        'Tenants of which no job is claimed: all for a key with the scope `admin`, else at most your own.',
    }),
    quarantined: z.array(z.object({ worker: z.string(), reason: z.string() })).meta({
      description: 'Live workers that claim no jobs because their engine failed one after the other.',
    }),
  })
  .meta({ id: 'QueueList' });
export type QueueList = z.output<typeof QueueListSchema>;
