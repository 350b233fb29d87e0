/** What operators see of the whole installation: settings, dead letters and traffic. */
import { z } from 'zod';
import { ERROR_CODES, type ErrorCode } from '../base/errors.ts';
import { JOB_TYPES } from './job.ts';

const count = z.int().nonnegative();
const rate = z.number().nonnegative().nullable();

const SettingSchema = z.object({
  name: z.string().meta({ example: 'LEHR_MAX_WAIT_S' }),
  value: z.string().nullable().meta({ description: 'Null for a secret, and for what is not set.' }),
  is_set: z.boolean().meta({ description: 'Also of secrets. A default counts as set.' }),
  is_secret: z.boolean(),
  description: z.string(),
});
export type Setting = z.output<typeof SettingSchema>;

export const SettingListSchema = z
  .object({ object: z.literal('list'), data: z.array(SettingSchema) })
  .meta({ id: 'SettingList' });

const FailedJobSchema = z.object({
  job: z.string(),
  tenant: z.string(),
  type: z.enum(JOB_TYPES),
  model: z.string(),
  code: z.enum(Object.keys(ERROR_CODES) as [ErrorCode, ...ErrorCode[]]),
  title: z.string(),
  attempts: count,
  failed_at: z.iso.datetime(),
});

export const DeadLettersSchema = z
  .object({
    object: z.literal('dead-letters'),
    failed: z.array(FailedJobSchema).meta({
      description:
        'At most 100 failed jobs of all tenants, newest failure first. Without their inputs and results.',
    }),
    next_cursor: z.string().nullable().meta({ description: 'For `?cursor=`; null on the last page.' }),
    unreadable: z
      .array(z.object({ id: z.string(), at: z.string(), reason: z.string() }))
      .meta({ description: 'At most 100 jobs and workers that a process could not read.' }),
  })
  .meta({ id: 'DeadLetters' });
export type DeadLetters = z.output<typeof DeadLettersSchema>;

const TrafficApiSchema = z.object({
  id: z.string(),
  requests_per_s: rate,
  refused_per_s: rate.meta({ description: 'Answers 4xx.' }),
  errors_per_s: rate.meta({ description: 'Answers 5xx.' }),
  mean_ms: rate.meta({ description: 'Mean time to answer, with the time that a request is held.' }),
});

const TrafficModelSchema = z.object({
  model: z.string().meta({ description: '`name@version`.' }),
  waiting: count,
  running: count,
  oldest_ms: count.meta({ description: 'Age of the oldest waiting job; 0 when none waits.' }),
  share: z
    .number()
    .min(0)
    .max(1)
    .nullable()
    .meta({
      description:
        'Share of the callers that name no version and get this one, by its rollout or by the weights in models.yaml. Null for the only ' +
        'version of a model.',
      example: 0.1,
    }),
  accepted_per_s: rate,
  refused_per_s: rate,
});

const TrafficWorkerSchema = z.object({
  id: z.string(),
  state: z.enum(['serving', 'draining', 'quarantined']),
  models: z.array(
    z.object({
      model: z.string(),
      claimed_per_s: rate,
      wait_ms: rate.meta({ description: 'Mean time from the request for a job until it was claimed.' }),
      ended_per_s: rate,
      failed_per_s: rate,
    }),
  ),
  stored_per_s: rate.meta({ description: 'Outputs written to the store.' }),
  store_ms: rate.meta({ description: 'Mean time of one, retries included.' }),
});

export const TrafficSchema = z
  .object({
    object: z.literal('traffic'),
    at: z.iso
      .datetime()
      .meta({ description: 'When it was read; one reading serves all callers for a second.' }),
    window_s: z.number().nullable().meta({
      description:
        'Seconds over which rates are measured, at most 10. Null until two readings exist: rates are null then.',
    }),
    apis: z.array(TrafficApiSchema).meta({ description: 'At most 32 API processes.' }),
    models: z.array(TrafficModelSchema).meta({ description: 'At most 64.' }),
    workers: z.array(TrafficWorkerSchema).meta({ description: 'At most 64.' }),
    more_workers: count,
    receivers: z.object({
      pending: count.meta({ description: 'Webhook deliveries that are not finished.' }),
      attempts_per_s: rate,
      failed_per_s: rate.meta({ description: 'Attempts without a 2xx.' }),
      mean_ms: rate,
    }),
  })
  .meta({ id: 'Traffic' });
export type Traffic = z.output<typeof TrafficSchema>;
