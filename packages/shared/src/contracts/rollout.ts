/** Rollouts: which version of a model its jobs get while a new one is tried, as an administrator sees and changes them. */
import { z } from 'zod';
import { SLUG } from './group.ts';

export const ROLLOUT_STATES = ['running', 'paused', 'promoted', 'rolled-back'] as const;
export type RolloutState = (typeof ROLLOUT_STATES)[number];

/** What decides which version a caller gets. */
export const STICKY_BY = ['key', 'tenant', 'job'] as const;
export type StickyBy = (typeof STICKY_BY)[number];

/** What happened to a rollout. */
export const ROLLOUT_ACTIONS = [
  'deployed',
  'changed',
  'paused',
  'resumed',
  'promoted',
  'rolled-back',
  'removed',
] as const;
export type RolloutAction = (typeof ROLLOUT_ACTIONS)[number];

const percent = (description: string) => z.number().min(0).max(100).meta({ description, example: 10 });
const count = (description: string) => z.int().nonnegative().meta({ description });
const slug = z.string().regex(SLUG, 'must match [a-z0-9][a-z0-9._-]{0,63}');
const ReasonSchema = z
  .string()
  .max(500)
  .meta({ description: 'Why, for people: it is kept in the history.', example: 'sharper hands' });

/** The model in a path. */
export const RolloutParamsSchema = z.object({
  model: slug.meta({
    description: 'The name of the model in models.yaml, without a version.',
    example: 'sd',
  }),
});

export const RolloutRequestSchema = z
  .strictObject({
    version: slug.meta({ description: 'The version to try: the canary.', example: '2' }),
    stable: slug.optional().meta({
      description:
        'The version that all other callers get. It can be left out when an earlier rollout decided it, or when only one other ' +
        'version has a weight in models.yaml.',
      example: '1',
    }),
    weight: percent(
      'Per cent of the callers that get the canary. Left out: as before, and the first of `steps` for a new rollout.',
    ).optional(),
    sticky_by: z.enum(STICKY_BY).optional().meta({
      description:
        'What decides which version a caller gets: the API key (the default), the tenant, or every job by itself.',
    }),
    auto_rollback: z.boolean().optional().meta({
      description:
        'Whether Lehr rolls the canary back when its jobs fail more often or take longer. Left out: as before, and true for a new rollout.',
    }),
    promote_after: z
      .int()
      .min(20)
      .max(1_000_000)
      .nullable()
      .optional()
      .meta({
        description:
          'Lehr goes to the next step, and after the last one promotes the canary, when so many of its jobs have ended in a step and nothing ' +
          'speaks against it. Null: only on request. Left out: as before, and null for a new rollout.',
        example: 500,
      }),
    steps: z
      .array(z.number().gt(0).max(100))
      .max(10)
      .refine((steps) => steps.every((step, i) => i === 0 || step > steps[i - 1]), 'must rise')
      .optional()
      .meta({
        description:
          'The weights that `promote_after` leads through; 100, or the end of the list, is the promotion. Left out: as before, and none for a ' +
          'new rollout. A new rollout without a weight begins with the first one.',
        example: [10, 50],
      }),
    reason: ReasonSchema.optional(),
  })
  .meta({ id: 'RolloutRequest' });
export type RolloutRequest = z.output<typeof RolloutRequestSchema>;

export const RolloutChangeSchema = z
  .strictObject({
    state: z.enum(ROLLOUT_STATES).meta({
      description:
        '`paused`: new jobs get the stable version until it is `running` again, with the same callers. `promoted`: all get the ' +
        'canary, which is the stable version of the next rollout. `rolled-back`: all get the stable version.',
      example: 'promoted',
    }),
    reason: ReasonSchema.optional(),
    rollout: z.string().optional().meta({
      description:
        'The id of the rollout that is meant: the request is refused when the model has another one by now. Left out: the one that it has.',
      example: 'ro_9f2c41d07ab3',
    }),
  })
  .meta({ id: 'RolloutChange' });
export type RolloutChange = z.output<typeof RolloutChangeSchema>;

export const RolloutEventSchema = z
  .object({
    at: z.iso.datetime(),
    action: z.enum(ROLLOUT_ACTIONS),
    by: z.string().nullable().meta({
      description: 'The id of the key; `root` is the configured key, and `lehr` is Lehr itself.',
      example: 'root',
    }),
    reason: z.string().nullable(),
    rollout: z.string().meta({ description: 'The id of the rollout.', example: 'ro_9f2c41d07ab3' }),
    stable: z.string(),
    canary: z.string(),
    weight: z.number(),
    state: z.enum(ROLLOUT_STATES),
  })
  .meta({ id: 'RolloutEvent' });
export type RolloutEvent = z.output<typeof RolloutEventSchema>;

/** How the jobs of a version ended. */
const VersionOutcomesSchema = z
  .object({
    jobs: count('Jobs that ended, succeeded or failed.'),
    failed: count(
      'Those that failed by a fault of Lehr or of the model: errors with a status of 500 or more.',
    ),
    failures: z.record(z.string(), z.int()).meta({
      description: 'Failed jobs by the code of their error, those of callers included.',
      example: { 'numeric-error': 3 },
    }),
    p95: z.number().nullable().meta({
      description:
        'The 95th percentile of device time, as a ratio to what a job of its size is expected to take alone; null without jobs.',
      example: 1.02,
    }),
  })
  .meta({ id: 'VersionOutcomes' });
export type VersionOutcomes = z.output<typeof VersionOutcomesSchema>;

const EndedJobsSchema = z
  .object({ jobs: count('Jobs that ended.'), failed: count('Those that failed.') })
  .meta({ id: 'EndedJobs' });

/** What Lehr decides by. */
const AnalysisSchema = z
  .object({
    auto_rollback: z.boolean(),
    promote_after: z.int().nullable(),
    steps: z.array(z.number()),
    limit: z
      .number()
      .meta({ description: 'Evidence from which on Lehr rolls the canary back.', example: 400 }),
    evidence: z.object({ failures: z.number(), slowness: z.number() }).meta({
      description:
        'How strongly the ended jobs speak against the canary; 1 or less says nothing. If the canary is not worse, each of the two ever ' +
        'reaches `limit` with a probability of at most 1 in `limit`.',
      example: { failures: 0.4, slowness: 0.1 },
    }),
    stable: EndedJobsSchema,
    canary: EndedJobsSchema,
    pairs: z
      .object({
        slower: count('The one of the canary took more than 1.25 times as long.'),
        faster: count('All others.'),
      })
      .meta({
        description: 'Comparisons of device time between a job of the canary and one of the stable version.',
      }),
  })
  .meta({
    id: 'RolloutAnalysis',
    description:
      'What Lehr decides by: the jobs posted since the share was changed or the rollout was paused.',
  });
export type RolloutAnalysis = z.output<typeof AnalysisSchema>;

export const RolloutSchema = z
  .object({
    object: z.literal('rollout'),
    id: z.string().meta({ example: 'ro_9f2c41d07ab3' }),
    model: z.string().meta({ example: 'sd' }),
    state: z.enum(ROLLOUT_STATES),
    stable: z.string().meta({ description: 'The version that was there before.', example: '1' }),
    canary: z.string().meta({ description: 'The version that is tried.', example: '2' }),
    weight: percent('Per cent of the callers that get the canary while the rollout is running.'),
    sticky_by: z.enum(STICKY_BY),
    created_at: z.iso.datetime(),
    changed_at: z.iso.datetime(),
    changed_by: z.string().nullable(),
    reason: z.string().nullable(),
    workers: z
      .object({ stable: z.int(), canary: z.int() })
      .meta({ description: 'Live workers that serve each version, or load it when a job waits.' }),
    outcomes: z
      .object({ stable: VersionOutcomesSchema, canary: VersionOutcomesSchema })
      .meta({ description: 'How the jobs of this rollout ended, by the version that it gave them.' }),
    analysis: AnalysisSchema,
    history: z.array(RolloutEventSchema).meta({
      description: 'What happened to the rollouts of this model, newest first, at most 100.',
    }),
  })
  .meta({ id: 'Rollout' });
export type Rollout = z.output<typeof RolloutSchema>;

export const RolloutListSchema = z
  .object({ object: z.literal('list'), data: z.array(RolloutSchema) })
  .meta({ id: 'RolloutList' });
