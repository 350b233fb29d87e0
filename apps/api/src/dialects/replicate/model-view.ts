/** Presents models as Replicate does. */
import { z } from '@hono/zod-openapi';
import {
  FillMaskRequestSchema,
  formatModelRef,
  LabelScoreSchema,
  LehrError,
  type ModelEntry,
  PictureTransformRequestSchema,
  type Registry,
  SpeechToTextRequestSchema,
  TextClassificationRequestSchema,
  TextEmbeddingRequestSchema,
  TextOutputSchema,
  TextToImageRequestSchema,
  TokenClassificationRequestSchema,
} from '@lehr/shared';
import type { Presenter } from '../../jobs/present.ts';
import { NATIVE } from './prediction-input.ts';
import { OWNER, typeOf } from './wanted-model.ts';

interface ReplicateModelsOptions {
  readonly registry: Registry;
  readonly presenter: Pick<Presenter, 'url'>;
}

/** Before version 0.3.9, clients take each list for a stream of outputs. */
const COG_VERSION = '0.16.0';

export class ReplicateModels {
  readonly #options: ReplicateModelsOptions;

  constructor(options: ReplicateModelsOptions) {
    this.#options = options;
  }

  list(): ReplicateModel[] {
    return this.#options.registry.models.map((entry) => this.#present(entry));
  }

  /** Throws `model-not-found`. */
  get(owner: string, name: string): ReplicateModel {
    return this.#present(this.#find(owner, name));
  }

  /** The last one of models.yaml first. Throws `model-not-found`. */
  versions(owner: string, name: string): ReplicateVersion[] {
    const entry = this.#find(owner, name);
    return entry.versions.map(({ version }) => this.#version(entry, version)).reverse();
  }

  /** `id` is `name@version` or the version alone. Throws `model-not-found`. */
  version(owner: string, name: string, id: string): ReplicateVersion {
    const entry = this.#find(owner, name);
    const found = entry.versions.find(
      ({ version }) => version === id || formatModelRef({ name, version }) === id,
    );
    if (!found) throw new LehrError('model-not-found', 'There is no such version of this model.');
    return this.#version(entry, found.version);
  }

  #find(owner: string, name: string): ModelEntry {
    const found = this.#options.registry.named(name);
    if (!found || owner !== OWNER) throw new LehrError('model-not-found', 'There is no such model.');
    return found;
  }

  #present(entry: ModelEntry): ReplicateModel {
    const { name, versions } = entry;
    return {
      url: this.#options.presenter.url(`/v1/models/${OWNER}/${name}`),
      owner: OWNER,
      name,
      visibility: 'private',
      run_count: 0,
      description: null,
      github_url: null,
      paper_url: null,
      license_url: null,
      cover_image_url: null,
      default_example: null,
      latest_version: this.#version(entry, versions[versions.length - 1].version),
    };
  }

  #version(entry: ModelEntry, version: string): ReplicateVersion {
    const { name } = entry;
    return {
      id: formatModelRef({ name, version }),
      created_at: new Date(this.#options.registry.changedAtS * 1000).toISOString(),
      cog_version: COG_VERSION,
      openapi_schema: {
        openapi: '3.1.0',
        info: { title: `${OWNER}/${name}`, version },
        paths: {},
        components: { schemas: { Input: inputSchema(entry), Output: outputSchema(entry) } },
      },
    };
  }
}

type JsonSchema = Record<string, unknown>;

const REQUESTS = {
  'text-to-image': TextToImageRequestSchema,
  'speech-to-text': SpeechToTextRequestSchema,
  'picture-transform': PictureTransformRequestSchema,
  'text-embedding': TextEmbeddingRequestSchema,
  'text-classification': TextClassificationRequestSchema,
  'fill-mask': FillMaskRequestSchema,
  'token-classification': TokenClassificationRequestSchema,
};

/** Fields in the order of the documentation, with the defaults of the model. */
function inputSchema(entry: ModelEntry): JsonSchema {
  const type = typeOf(entry);
  const names = NATIVE[type];
  const { shape } = REQUESTS[type];
  const defaults: Readonly<Record<string, unknown>> = entry.task === 'diffusion' ? entry.defaults : {};
  const fields: Readonly<Record<string, z.ZodType>> = shape;
  const properties = Object.entries(names).map(([name, native], order) => {
    const { $schema: _, ...schema } = z.toJSONSchema(fields[native], { io: 'input' });
    const fallback = defaults[native];
    const own = { title: name, 'x-order': order, ...(fallback !== undefined && { default: fallback }) };
    return [name, { ...schema, ...own }] as const;
  });
  const required = Object.keys(names).filter((name) => !fields[names[name]].isOptional());
  return { title: 'Input', type: 'object', properties: Object.fromEntries(properties), required };
}

/** As `output` of a prediction. */
function outputSchema(entry: ModelEntry): JsonSchema {
  const { task } = entry;
  if (task === 'transform' && entry.result === 'class') {
    const { $schema: _, ...labels } = z.toJSONSchema(z.array(z.array(LabelScoreSchema)));
    return { title: 'Output', type: 'object', properties: { labels }, required: ['labels'] };
  }
  if (task === 'diffusion' || task === 'transform') {
    return { title: 'Output', type: 'array', items: { type: 'string', format: 'uri' } };
  }
  if (task === 'text') {
    const { $schema: _, ...schema } = z.toJSONSchema(TextOutputSchema);
    return { title: 'Output', ...schema };
  }
  const properties = {
    text: { type: 'string' },
    language: { type: 'string' },
    duration: { type: 'number' },
    segments: { type: 'array', items: { type: 'object' } },
  };
  return { title: 'Output', type: 'object', properties, required: ['text'] };
}

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
type ReplicateVersion = z.output<typeof ReplicateVersionSchema>;

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
type ReplicateModel = z.output<typeof ReplicateModelSchema>;

export const ReplicateVersionListSchema = z
  .object({ results: z.array(ReplicateVersionSchema), next: z.null(), previous: z.null() })
  .meta({ id: 'ReplicateVersionList' });
