/** What is done to all jobs that match a filter: cancel, retry, delete, or another priority. */
import { z } from 'zod';
import { ERROR_CODES, type ErrorCode } from '../base/errors.ts';
import { TenantSchema } from './api-key.ts';
import { JOB_TYPES, JobStateSchema, PRIORITY_CLASSES } from './job.ts';

const time = z.iso.datetime({ offset: true }).optional();

/** Of `GET /v1/jobs` and of actions. */
export const JobFilterSchema = z
  .strictObject({
    status: JobStateSchema.optional(),
    type: z.enum(JOB_TYPES).optional(),
    model: z.string().min(1).max(200).optional().meta({ description: '`name` or `name@version`.' }),
    error_code: z
      .enum(Object.keys(ERROR_CODES) as [ErrorCode, ...ErrorCode[]])
      .optional()
      .meta({ description: 'Of a failed job: its error has this code.' }),
    created_after: time.meta({ description: 'Made at this time or later.', example: '2026-11-29T00:00:00Z' }),
    created_before: time.meta({ description: 'Made before this time.' }),
    text: z.string().min(1).max(200).optional().meta({
      description:
        'Words of the job: its text, that of a node, its texts or its transcript contain this. The letters a to z are found in any case.',
    }),
    metadata: z
      .record(z.string().min(1).max(64), z.string().max(512))
      .optional()
      .meta({ description: 'Labels of the job with their values. With several, the job has all of them.' }),
  })
  .meta({ id: 'JobFilter', description: 'As in `GET /v1/jobs`. A job matches that has all of it.' });
export type JobFilter = z.output<typeof JobFilterSchema>;

export const JOB_ACTIONS = ['cancel', 'retry', 'delete', 'prioritize'] as const;
export type JobActionName = (typeof JOB_ACTIONS)[number];

const action = z.enum(JOB_ACTIONS).meta({
  description:
    'A job in a state that the action does not apply to is skipped: `cancel` is for jobs that have not ended, `retry` and `delete` for those that ' +
    'have, `prioritize` for those that wait. Jobs that were retried before are not retried again, and workflows are neither retried nor given a ' +
    'priority.',
});
const priority = z.enum(PRIORITY_CLASSES);

export const JobActionRequestSchema = z
  .strictObject({
    action,
    priority: priority.optional().meta({ description: 'Of `prioritize`, and only of it: the new one.' }),
    filter: JobFilterSchema,
    all: z.literal(true).optional().meta({ description: 'Required with a filter that every job matches.' }),
    dry_run: z.boolean().default(false).meta({ description: 'Only counts the jobs that match.' }),
    tenant: TenantSchema.optional().meta({
      description: 'Whose jobs. Another tenant than that of the key needs the scope `admin`.',
      example: 'acme',
    }),
  })
  .meta({ id: 'JobActionRequest' });
export type JobActionRequest = z.output<typeof JobActionRequestSchema>;

const count = z.int().meta({ description: 'How many jobs matched when the request was made.', example: 128 });
const count_is_exact = z.boolean().meta({ description: 'False: at least so many, counting took too long.' });

export const JobActionCountSchema = z
  .object({ object: z.literal('job_action_count'), count, count_is_exact })
  .meta({ id: 'JobActionCount' });
export type JobActionCount = z.output<typeof JobActionCountSchema>;

const code = z.enum(Object.keys(ERROR_CODES) as [ErrorCode, ...ErrorCode[]]);

export const JobActionErrorSchema = z.object({
  code,
  count: z.int().meta({ description: 'Jobs that failed with this code.' }),
  job: z.string().meta({ description: 'The first one.' }),
  detail: z.string().meta({ description: 'What was wrong with that one.' }),
});
export type JobActionError = z.output<typeof JobActionErrorSchema>;

export const JOB_ACTION_STATES = ['running', 'canceling', 'completed', 'canceled', 'failed'] as const;

export const JobActionSchema = z
  .object({
    id: z.string().meta({ example: 'bulk_01jd3v9s6w0000000000000000' }),
    object: z.literal('job_action'),
    action,
    priority: priority.nullable(),
    filter: JobFilterSchema,
    status: z.enum(JOB_ACTION_STATES).meta({
      description: '`failed`: the key that asked for it is no longer valid, or may not do it any more.',
    }),
    created_at: z.iso.datetime().meta({ description: 'Jobs that were made later are not touched.' }),
    ended_at: z.iso.datetime().nullable(),
    count,
    count_is_exact,
    matched: z.int().meta({ description: 'Jobs that were found so far.' }),
    done: z.int(),
    skipped: z.int().meta({ description: 'The action does not apply to them.' }),
    failed: z.int(),
    errors: z.array(JobActionErrorSchema).meta({ description: 'Of those that failed, by code.' }),
  })
  .meta({ id: 'JobAction' });
export type JobAction = z.output<typeof JobActionSchema>;

export const JobActionListSchema = z.object({ data: z.array(JobActionSchema) }).meta({ id: 'JobActionList' });
