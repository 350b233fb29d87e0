/** Pauses of models: nothing of them is claimed until they are resumed. */
import { z } from 'zod';
import { SLUG } from './group.ts';

/** In the place of a model: everything. */
export const EVERYTHING = '*';

const isTarget = (target: string): boolean =>
  target === EVERYTHING ||
  (target.split('@').length <= 2 && target.split('@').every((part) => SLUG.test(part)));

export const PauseParamsSchema = z.object({
  model: z
    .string()
    .refine(isTarget, 'must be a model, `name` or `name@version`, or `*` for all models')
    .meta({
      description: '`name` for all of its versions, `name@version`, or `*` for all models.',
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
    model: z.string().meta({ description: '`name`, `name@version`, or `*` for all models.', example: 'sd' }),
    submissions,
    now: z.boolean(),
    reason: reason.nullable(),
    at: z.iso.datetime(),
    by: z.string().meta({ description: 'The id of the key; `root` is the configured key.', example: 'root' }),
  })
  .meta({ id: 'Pause' });
export type Pause = z.output<typeof PauseSchema>;

export const PauseListSchema = z
  .object({ object: z.literal('list'), data: z.array(PauseSchema) })
  .meta({ id: 'PauseList' });
