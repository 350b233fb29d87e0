/** Schedules: requests for jobs that are posted again and again, at times of a cron expression or every so many seconds. */
import { z } from 'zod';
import { ERROR_CODES, type ErrorCode } from '../base/errors.ts';
import { JOB_STATES } from './job.ts';
import { JobRequestSchema } from './job-request.ts';

export const MIN_EVERY_S = 10;
const MAX_EVERY_S = 31 * 24 * 3600;
/** Runs that are made up for after an outage. */
export const MAX_CAUGHT_UP = 100;

const fields = {
  name: z.string().min(1).max(200).meta({ description: 'For people.', example: 'digest of calls' }),
  cron: z.string().min(9).max(200).meta({
    description: 'Minute, hour, day of the month, month, day of the week. Give this or `every_s`.',
    example: '30 2 * * *',
  }),
  timezone: z.string().min(1).max(64).meta({
    description: 'Of `cron`: a name of the IANA database. Default: UTC.',
    example: 'Europe/Berlin',
  }),
  every_s: z.int().min(MIN_EVERY_S).max(MAX_EVERY_S).meta({ description: 'Seconds from run to run.' }),
  // Without a description of its own, so that clients have one type for it.
  request: JobRequestSchema,
  catch_up: z.enum(['none', 'last', 'all']).meta({
    description: `Of the runs that were due while nothing could make them: none, only the last one, or all of the last ${MAX_CAUGHT_UP}. Default: \`last\`.`,
  }),
  overlap: z.enum(['allow', 'skip']).meta({
    description: '`skip`: no run while the job of the one before has not ended. Default: `allow`.',
  }),
  paused: z.boolean().meta({ description: 'Makes no jobs. When it goes on, it makes up for nothing.' }),
};

export const ScheduleRequestSchema = z
  .strictObject({
    ...fields,
    cron: fields.cron.optional(),
    timezone: fields.timezone.optional(),
    every_s: fields.every_s.optional(),
    catch_up: fields.catch_up.default('last'),
    overlap: fields.overlap.default('allow'),
    paused: fields.paused.default(false),
  })
  .meta({
    id: 'ScheduleRequest',
    description: '`request` is the body of `POST /v1/jobs`, without `run_at` and `delay_s`.',
  });
export type ScheduleRequest = z.output<typeof ScheduleRequestSchema>;

/** What is absent stays. `cron` takes the place of `every_s`, and the other way round. */
export const ScheduleChangeSchema = z.strictObject(fields).partial().meta({ id: 'ScheduleChange' });
export type ScheduleChange = z.output<typeof ScheduleChangeSchema>;

const code = z.enum(Object.keys(ERROR_CODES) as [ErrorCode, ...ErrorCode[]]);

export const ScheduleRunSchema = z.object({
  at: z.iso.datetime().meta({ description: 'When it was due.' }),
  job: z.string().nullable(),
  status: z.enum([...JOB_STATES, 'gone', 'refused', 'skipped', 'missed']).meta({
    description:
      'The state of its job; `gone`: its record was deleted; `refused`: the job was, with the error; `skipped`: the one before had not ended; ' +
      '`missed`: this run and perhaps others after it were not made up for.',
  }),
  error: z.object({ code, detail: z.string() }).nullable(),
});
export type ScheduleRun = z.output<typeof ScheduleRunSchema>;

export const ScheduleSchema = z
  .object({
    id: z.string().meta({ example: 'schedule_01jd3v9s6w0000000000000000' }),
    object: z.literal('schedule'),
    name: z.string(),
    cron: z.string().nullable(),
    timezone: z.string().nullable(),
    every_s: z.int().nullable(),
    request: JobRequestSchema,
    catch_up: fields.catch_up,
    overlap: fields.overlap,
    status: z.enum(['active', 'paused', 'ended']).meta({
      description:
        '`ended`: the key that made it is no longer valid. A change with another key of the tenant lets it go on with that key.',
    }),
    created_at: z.iso.datetime(),
    next_runs: z.array(z.iso.datetime()).meta({ description: 'The next five.' }),
    last_runs: z.array(ScheduleRunSchema).meta({ description: 'At most ten, newest first.' }),
  })
  .meta({ id: 'Schedule' });
export type Schedule = z.output<typeof ScheduleSchema>;

export const ScheduleListSchema = z.object({ data: z.array(ScheduleSchema) }).meta({ id: 'ScheduleList' });
