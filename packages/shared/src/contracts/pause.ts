/** Pauses of models and tenants: nothing of them is claimed until they are resumed. */
import { z } from 'zod';
import { TenantSchema } from './api-key.ts';
import { SLUG } from './group.ts';

/** In the place of a model: everything. */
export const EVERYTHING = '*';

const TENANT = 'tenant:';
/** The target of the pause of a tenant. */
export const tenantTarget = (tenant: string): string => `${TENANT}${tenant}`;
/** The tenant of such a target; undefined for a target that is a model. */
export const tenantOf = (target: string): string | undefined =>
  target.startsWith(TENANT) ? target.slice(TENANT.length) : undefined;

const isTarget = (target: string): boolean =>
  target === EVERYTHING ||
  TenantSchema.safeParse(tenantOf(target)).success ||
  (target.split('@').length <= 2 && target.split('@').every((part) => SLUG.test(part)));

export const PauseParamsSchema = z.object({
  target: z
    .string()
    .refine(isTarget, 'must be a model, `name` or `name@version`, `tenant:<name>`, or `*` for all models')
    .meta({
      description:
        'A model: `name` for all of its versions, or `name@version`; a tenant: `tenant:<name>`; or `*` for all models.',
      example: 'sd',
    }),
});

/** What becomes of new jobs meanwhile. */
export const SUBMISSIONS = ['accepted', 'refused'] as const;

const submissions = z.enum(SUBMISSIONS).meta({
  description:
    'What becomes of new jobs: `accepted` ones wait, within the limits of their callers; `refused` ones get 503 `unavailable`.',
});
const reason = z.string().max(200).meta({ description: 'Why, for people.', example: 'new driver' });

export const PauseRequestSchema = z
  .strictObject({
    submissions: submissions.default('accepted'),
    now: z.boolean().default(false).meta({
      description:
        'What runs goes back to its queue too, with a checkpoint where one can be kept. Else it runs to its end.',
    }),
    reason: reason.optional(),
  })
  .meta({ id: 'PauseRequest' });
export type PauseRequest = z.output<typeof PauseRequestSchema>;

export const PauseSchema = z
  .object({
    object: z.literal('pause'),
    model: z.string().nullable().meta({
      description: '`name`, `name@version`, or `*` for all models. Null for the pause of a tenant.',
      example: 'sd',
    }),
    tenant: z.string().nullable().default(null).meta({ description: 'Null for the pause of a model.' }),
    submissions,
    now: z.boolean(),
    reason: reason.nullable(),
    at: z.iso.datetime(),
    by: z.string().meta({ description: 'The id of the key; `root` is the configured key.', example: 'root' }),
  })
  .meta({ id: 'Pause' });
export type Pause = z.output<typeof PauseSchema>;

export const targetOf = ({ model, tenant }: Pause): string => model ?? tenantTarget(tenant ?? '');

export const PauseListSchema = z
  .object({ object: z.literal('list'), data: z.array(PauseSchema) })
  .meta({ id: 'PauseList' });
