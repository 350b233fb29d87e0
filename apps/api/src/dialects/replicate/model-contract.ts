/** Models and their versions as Replicate's clients read them. Its client for Python requires each of these fields. */
import { z } from '@hono/zod-openapi';
import { OWNER } from './wanted-model.ts';

export const ReplicateVersionSchema = z
  .object({
    id: z.string().meta({ description: '`model@version`.', example: 'tiny-diffusion@1' }),
    created_at: z.iso.datetime(),
    cog_version: z.string().meta({
      description: 'The version of Cog whose rules `openapi_schema` follows. Lehr does not use Cog.',
    }),
    openapi_schema: z.record(z.string(), z.unknown()).meta({
      description: 'An OpenAPI document with the schemas `Input` and `Output` of a prediction.',
    }),
  })
  .meta({ id: 'ReplicateVersion' });
export type ReplicateVersion = z.output<typeof ReplicateVersionSchema>;

/** Replicate has them; a model of Lehr has none. */
const ABSENT = {
  description: z.null(),
  github_url: z.null(),
  paper_url: z.null(),
  license_url: z.null(),
  cover_image_url: z.null(),
  default_example: z.null(),
};

export const ReplicateModelSchema = z
  .object({
    url: z.url(),
    owner: z.literal(OWNER),
    name: z.string(),
    visibility: z.literal('private'),
    run_count: z.int(),
    ...ABSENT,
    latest_version: ReplicateVersionSchema,
  })
  .meta({ id: 'ReplicateModel' });
export type ReplicateModel = z.output<typeof ReplicateModelSchema>;

export const ReplicateVersionListSchema = z
  .object({ results: z.array(ReplicateVersionSchema), next: z.null(), previous: z.null() })
  .meta({ id: 'ReplicateVersionList' });
