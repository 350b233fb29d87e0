/** What tenants use: jobs and device time per day, key and model, and what waits, runs and is stored now. */
import { z } from 'zod';

const count = z.int().nonnegative();

/** By what the use of days is summed up; also the columns, in this order. */
export const USAGE_PARTS = ['day', 'tenant', 'key', 'model'] as const;
export type UsagePart = (typeof USAGE_PARTS)[number];

const countsShape = {
  jobs: count.meta({
    description:
      'Jobs that ended, also those that were deleted since. Nodes of workflows count, workflows do not.',
  }),
  succeeded: count,
  failed: count,
  canceled: count,
  expired: count,
  device_s: z
    .number()
    .nonnegative()
    .meta({
      description:
        'Seconds of device time; of graph runs that jobs shared, their shares. Measured for jobs that succeeded. Estimated for pictures that ' +
        'went on from a checkpoint, and by their progress for jobs that were stopped while they ran.',
    }),
  price: z.number().nonnegative().optional().meta({
    description: 'Of the device time, at the price now in force. Absent when the operator states none.',
  }),
};

const UsageRowSchema = z.object({
  day: z.iso.date().optional().meta({ description: 'UTC.' }),
  tenant: z.string().optional(),
  key: z.string().nullable().optional().meta({ description: 'Id of the API key; null where none is known.' }),
  model: z.string().nullable().optional().meta({ description: '`name@version`.' }),
  ...countsShape,
});
export type UsageRow = z.output<typeof UsageRowSchema>;

const TenantUseSchema = z.object({
  tenant: z.string(),
  jobs_by_hour: z.array(count).meta({
    description: 'Jobs made in each of the last 24 hours, oldest first, of those whose records still exist.',
  }),
  waiting: count,
  running: count,
  waiting_ms: count.meta({ description: 'Estimated engine time of its waiting jobs.' }),
  stored_mb: z.number().nonnegative().meta({ description: 'Its stored uploads.' }),
});
export type TenantUse = z.output<typeof TenantUseSchema>;

export const UsageSchema = z
  .object({
    object: z.literal('usage'),
    at: z.iso.datetime().meta({ description: 'When it was read; the last hour ends here.' }),
    from: z.iso.date(),
    to: z.iso.date(),
    by: z.array(z.enum(USAGE_PARTS)),
    currency: z.string().nullable(),
    rows: z.array(UsageRowSchema).meta({
      description: 'One for each value of the parts of `by` with ended jobs, in their order.',
    }),
    total: z.object(countsShape),
    tenants: z.array(TenantUseSchema).meta({
      description:
        'What each tenant has now: for a key with the scope `admin`, at most 50 tenants, those with the most jobs first; else its own.',
    }),
    more_tenants: count,
  })
  .meta({ id: 'Usage' });
export type Usage = z.output<typeof UsageSchema>;
