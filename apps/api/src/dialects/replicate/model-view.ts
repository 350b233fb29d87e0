/** Presents models as Replicate does. */
import { formatModelRef, LehrError, type ModelEntry, type Registry } from '@lehr/shared';
import type { Presenter } from '../../jobs/present.ts';
import type { ReplicateModel, ReplicateVersion } from './model-contract.ts';
import { inputSchema, outputSchema } from './model-schema.ts';
import { OWNER } from './wanted-model.ts';

export interface ReplicateModelsOptions {
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
