/** Keys as an administrator makes and sees them. */
import { z } from 'zod';

/** What a key may do. `admin` is for the whole installation: keys of any tenant, the admin pages. */
export const SCOPES = ['submit', 'read', 'cancel', 'admin'] as const;
export type Scope = (typeof SCOPES)[number];

/** A tenant's name stands in Redis keys and in object keys. */
export const TenantSchema = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,62}$/, 'must match [a-z0-9][a-z0-9-]{0,62}')
  .meta({ description: 'Whose jobs the key makes and sees.', example: 'acme' });

/** A budget below this would be none; one above it could not be counted exactly. */
const MAX_COST_S = 1_000_000;
const MAX_COUNT = 1_000_000;

const bound = (description: string) => z.int().min(1).max(MAX_COUNT).meta({ description });

/** Null is no limit. */
export const KeyLimitsSchema = z
  .strictObject({
    max_jobs: bound("The tenant's jobs without an end, waiting and running together.").nullable(),
    max_queued: bound('Of these, the ones that wait.').nullable(),
    cost_per_minute_s: z
      .number()
      .min(0.001)
      .max(MAX_COST_S)
      .nullable()
      .meta({
        description:
          'Estimated engine seconds that the jobs of this key may cost per minute. It fills up steadily; a job that costs more ' +
          'than is left is taken and the rest owed.',
      }),
    requests_per_minute: bound(
      'Requests for a job and uploads, counted by each API process for itself before it reads their body.',
    ).nullable(),
    max_streams: bound(
      'Streams of job events open at once, counted by each API process for itself.',
    ).nullable(),
    weight: z.number().min(0.01).max(100).meta({
      description: "The tenant's share against others whose jobs of the same class wait in the same group.",
    }),
  })
  .meta({ id: 'KeyLimits' });
export type KeyLimits = z.output<typeof KeyLimitsSchema>;

/** Of a key that says nothing else. */
export const DEFAULT_LIMITS: KeyLimits = {
  max_jobs: 10_000,
  max_queued: null,
  cost_per_minute_s: null,
  requests_per_minute: null,
  max_streams: 1000,
  weight: 1,
};

const name = z.string().max(100).meta({ description: 'For people.', example: 'render farm' });
const scopes = z.array(z.enum(SCOPES)).min(1).max(SCOPES.length);
const expiry = z.iso.datetime().nullable().meta({ description: 'When it stops working by itself.' });

export const KeyRequestSchema = z
  .strictObject({
    tenant: TenantSchema,
    name: name.default(''),
    env: z
      .string()
      .regex(/^[a-z0-9]{1,16}$/, 'must match [a-z0-9]{1,16}')
      .default('live')
      .meta({ description: 'Stands in the key, so that people see what it is for.' }),
    scopes: scopes.default(['submit', 'read', 'cancel']),
    expires_at: expiry.default(null),
    limits: KeyLimitsSchema.partial().default({}),
  })
  .meta({ id: 'KeyRequest' });
export type KeyRequest = z.output<typeof KeyRequestSchema>;

/** Fields that are absent stay as they are. */
export const KeyChangeSchema = z
  .strictObject({
    name: name.optional(),
    scopes: scopes.optional(),
    expires_at: expiry.optional(),
    limits: KeyLimitsSchema.partial().optional(),
  })
  .meta({ id: 'KeyChange' });
export type KeyChange = z.output<typeof KeyChangeSchema>;

export const ApiKeySchema = z
  .object({
    id: z.string().meta({ example: '4fZk09Qa' }),
    object: z.literal('key'),
    tenant: z.string(),
    name: z.string(),
    prefix: z.string().meta({ description: 'How the key begins.', example: 'lehr_live_4fZk09Qa' }),
    scopes: z.array(z.enum(SCOPES)),
    limits: KeyLimitsSchema,
    created_at: z.iso.datetime(),
    expires_at: z.iso.datetime().nullable(),
    last_used_at: z.iso.datetime().nullable().meta({ description: 'To the minute.' }),
  })
  .meta({ id: 'Key' });
export type ApiKey = z.output<typeof ApiKeySchema>;

export const NewApiKeySchema = ApiKeySchema.extend({
  key: z.string().meta({ description: 'The key itself. It is shown this once and stored nowhere.' }),
}).meta({ id: 'NewKey' });
export type NewApiKey = z.output<typeof NewApiKeySchema>;

export const ApiKeyListSchema = z
  .object({ object: z.literal('list'), data: z.array(ApiKeySchema) })
  .meta({ id: 'KeyList' });
