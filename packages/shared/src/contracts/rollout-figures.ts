/** What a rollout shows of its jobs: how they ended, and what Lehr decides by. */
import { z } from 'zod';

export const percent = (description: string) => z.number().min(0).max(100).meta({ description, example: 10 });
const count = (description: string) => z.int().nonnegative().meta({ description });
export const VersionOutcomesSchema = z
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

export const AnalysisSchema = z
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
