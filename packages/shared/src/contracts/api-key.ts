/** API keys, as an administrator creates and reads them. */
import { z } from 'zod';
import { PRIORITY_CLASSES } from './job.ts';
import { SAFETY_MODES } from './safety.ts';

/**
 * What a key may do. `admin` covers the whole installation: keys of any tenant, and the admin pages. `scale` is for what starts and
 * stops workers: it reads how many there should be.
 */
export const SCOPES = ['submit', 'read', 'cancel', 'scale', 'admin'] as const;
export type Scope = (typeof SCOPES)[number];

/** The name of a tenant is a part of Redis keys and object keys. */
export const TenantSchema = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,62}$/, 'must match [a-z0-9][a-z0-9-]{0,62}')
  .meta({ description: 'The tenant whose jobs the key creates and reads.', example: 'acme' });

/** Larger budgets could not be counted exactly. */
const MAX_COST_S = 1_000_000;
const MAX_COUNT = 1_000_000;

const bound = (description: string) => z.int().min(1).max(MAX_COUNT).meta({ description });

/** Null means no limit. */
export const KeyLimitsSchema = z
  .strictObject({
    max_jobs: bound(
      "The tenant's unfinished jobs, waiting and running together, with all nodes of its workflows.",
    ).nullable(),
    max_queued: bound('Those of them that wait.').nullable(),
    cost_per_minute_s: z
      .number()
      .min(0.001)
      .max(MAX_COST_S)
      .nullable()
      .meta({
        description:
          'Estimated engine seconds that the jobs of this key may cost per minute. The budget refills steadily; a job that costs ' +
          'more than is left is accepted and the rest is owed.',
      }),
    requests_per_minute: bound(
      'Job requests and uploads, counted by each API process separately before it reads their body.',
    ).nullable(),
    max_streams: bound('Open streams of job events, counted by each API process separately.').nullable(),
    max_backlog_share: z
      .number()
      .min(0.01)
      .max(1)
      .nullable()
      .meta({
        description:
          "How much of the longest wait (LEHR_MAX_WAIT_S) the tenant's waiting jobs may fill, of all classes together, so that the " +
          'others still find room. A tenant without a waiting job may always make one.',
      }),
    max_stored_mb: bound(
      "Megabytes of the tenant's uploads, files and audio inside requests, that are stored at once. Outputs do not count.",
    ).nullable(),
    upload_mb_per_day: bound('Megabytes that the tenant uploads in 24 hours.').nullable(),
    max_batches: bound("The tenant's batches that have not ended.").nullable(),
    max_batch_lines: bound(
      'Lines of one of its batches. A file may have 50,000 and a sweep 100,000 in any case.',
    ).nullable(),
    max_priority: z.enum(PRIORITY_CLASSES).meta({
      description:
        'The most urgent class of its jobs. A request for a more urgent one is refused; a job without a class gets `standard`, or ' +
        'this class if it is less urgent.',
    }),
    safety: z
      .enum(SAFETY_MODES)
      .nullable()
      .meta({
        description:
          'What is done with pictures of this key that are found unsafe; null: as the model says. A less strict mode than that of the model counts only ' +
          'where models.yaml allows it (`safety.keys: any`). Of a model that has nothing to check pictures with, the key draws none, unless it is `off`.',
      }),
    weight: z.number().min(0.01).max(100).meta({
      description: "The tenant's share against other tenants with waiting jobs of the same class and group.",
    }),
  })
  .meta({ id: 'KeyLimits' });
export type KeyLimits = z.output<typeof KeyLimitsSchema>;

/** The limits of a key that sets none. */
export const DEFAULT_LIMITS: KeyLimits = {
  max_jobs: 10_000,
  max_queued: null,
  cost_per_minute_s: null,
  requests_per_minute: null,
  max_streams: 1000,
  max_backlog_share: 0.5,
  max_stored_mb: 10_000,
  upload_mb_per_day: 50_000,
  max_batches: 100,
  max_batch_lines: null,
  max_priority: 'interactive',
  safety: null,
  weight: 1,
};

const name = z.string().max(100).meta({ description: 'A label for people.', example: 'render farm' });
const scopes = z.array(z.enum(SCOPES)).min(1).max(SCOPES.length);
const expiry = z.iso.datetime().nullable().meta({ description: 'When the key expires.' });

export const KeyRequestSchema = z
  .strictObject({
    tenant: TenantSchema,
    name: name.default(''),
    env: z
      .string()
      .regex(/^[a-z0-9]{1,16}$/, 'must match [a-z0-9]{1,16}')
      .default('live')
      .meta({ description: 'A part of the key, so that people see what it is for.' }),
    scopes: scopes.default(['submit', 'read', 'cancel']),
    expires_at: expiry.default(null),
    limits: KeyLimitsSchema.partial().default({}),
  })
  .meta({ id: 'KeyRequest' });
export type KeyRequest = z.output<typeof KeyRequestSchema>;

/** Refuses an object without a field; OpenAPI's `minProperties` says the same. */
const notEmpty = <Shape extends z.ZodRawShape>(schema: z.ZodObject<Shape, z.core.$strict>) => {
  const names = Object.keys(schema.shape).join(', ');
  return schema
    .refine((value) => Object.keys(value).length > 0, `must have at least one of: ${names}`)
    .meta({ minProperties: 1 });
};

/** Absent fields stay unchanged. */
export const KeyChangeSchema = notEmpty(
  z.strictObject({
    name: name.optional(),
    scopes: scopes.optional(),
    expires_at: expiry.optional(),
    limits: notEmpty(z.strictObject(KeyLimitsSchema.partial().shape)).optional(),
  }),
).meta({ id: 'KeyChange' });
export type KeyChange = z.output<typeof KeyChangeSchema>;

const megabytes = (description: string) => z.number().nonnegative().meta({ description });

export const StorageUsageSchema = z
  .object({
    stored_mb: megabytes('Counted against `max_stored_mb`.'),
    uploaded_mb: megabytes('In the last 24 hours; counted against `upload_mb_per_day`.'),
  })
  .meta({ id: 'StorageUsage', description: 'Of the tenant, over all its keys.' });
export type StorageUsage = z.output<typeof StorageUsageSchema>;

export const ApiKeySchema = z
  .object({
    id: z.string().meta({ example: '4fZk09Qa' }),
    object: z.literal('key'),
    tenant: z.string(),
    name: z.string(),
    prefix: z.string().meta({ description: 'How the key begins.', example: 'lehr_live_4fZk09Qa' }),
    scopes: z.array(z.enum(SCOPES)),
    limits: KeyLimitsSchema,
    usage: StorageUsageSchema,
    usable: z.boolean().meta({
      description:
        'False when this API has no pepper (LEHR_KEY_PEPPER) that the key was made with: it is refused. Revoke it ' +
        'and create another one.',
    }),
    created_at: z.iso.datetime(),
    expires_at: z.iso.datetime().nullable(),
    last_used_at: z.iso.datetime().nullable().meta({ description: 'To the minute.' }),
  })
  .meta({ id: 'Key' });
export type ApiKey = z.output<typeof ApiKeySchema>;

export const NewApiKeySchema = ApiKeySchema.extend({
  key: z.string().meta({ description: 'The key itself. It is shown only this once and not stored.' }),
}).meta({ id: 'NewKey' });
export type NewApiKey = z.output<typeof NewApiKeySchema>;

export const ApiKeyListSchema = z
  .object({ object: z.literal('list'), data: z.array(ApiKeySchema) })
  .meta({ id: 'KeyList' });
