import { isAbsolute, join } from 'node:path';
import type { ModelVersion, Registry } from '../registry.ts';
import { cachedFolder } from './fetch-model.ts';
import { parseSource, type SourceFields, sourceFolder } from './source.ts';

export interface ModelPlaces {
  /** The folder of models.yaml, which relative paths start from. */
  readonly models: string;
  /** The folder of fetched models. */
  readonly cache: string;
}

/** What to fetch; undefined for a version that is a folder of the installation. */
export const sourceOf = ({ source, revision, variant }: ModelVersion): SourceFields | undefined =>
  source === undefined ? undefined : { source, revision, variant };

/** Where the folder of a version is. One with a source may not be there yet. */
export function versionFolder(version: ModelVersion, { models, cache }: ModelPlaces): string {
  const fields = sourceOf(version);
  // The registry refuses a version with neither.
  return fields ? cachedFolder(cache, fields) : fromModelsFile(models, version.path ?? '');
}

/** A `path` of models.yaml: absolute, or relative to the file's folder. */
export const fromModelsFile = (models: string, path: string): string =>
  isAbsolute(path) ? path : join(models, path);

/** The names in the cache of all models that models.yaml names. */
export const namesInCache = ({ models }: Registry): ReadonlySet<string> =>
  new Set(
    models.flatMap(({ versions }) =>
      versions.flatMap((version) => {
        const fields = sourceOf(version);
        return fields ? [sourceFolder(parseSource(fields), fields.variant)] : [];
      }),
    ),
  );
