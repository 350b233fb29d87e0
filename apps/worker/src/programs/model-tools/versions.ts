/** Versions of models.yaml: one that is on this machine, and the name of a new one. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { LehrError, type ModelEntry, type ModelRef, type Registry, SLUG } from '@lehr/shared';
import { type SourceFields, versionFolder } from '@lehr/shared/model-cache';
import { placesOf, readModelsFile, type ToolSettings } from './tool-settings.ts';

export interface FoundVersion {
  readonly entry: ModelEntry;
  readonly version: ModelEntry['versions'][number];
  readonly folder: string;
}

/**
 * `model` is `name` or `name@version`; `isNot` begins what is said when it is no model. Throws LehrError `model-not-found` when
 * models.yaml does not have it, `model-unavailable` when its folder is not there.
 */
export async function findVersion(
  model: string,
  settings: ToolSettings,
  isNot: string,
): Promise<FoundVersion> {
  const registry = await readModelsFile(settings);
  const entry = registry?.named(model);
  if (!registry || !entry)
    throw new LehrError('model-not-found', `${model} is ${isNot} of ${settings.modelsFile}.`);
  const { ref } = registry.resolve(entry.task, model, 0);
  const version = entry.versions.find((each) => each.version === ref.version) ?? entry.versions[0];
  const folder = versionFolder(version, placesOf(settings));
  if (!existsSync(folder)) {
    throw new LehrError('model-unavailable', `${folder} is not there; lehr models pull fetches a model.`);
  }
  return { entry, version, folder };
}

/** What a new version is called. Without a version in `wanted`: the one that has this source already, else the next number. */
export function chooseRef(
  wanted: string,
  fields: SourceFields | undefined,
  registry: Registry | undefined,
): ModelRef {
  const [name, version, ...rest] = wanted.split('@');
  if (rest.length > 0 || !SLUG.test(name) || (version !== undefined && !SLUG.test(version))) {
    throw new LehrError(
      'invalid-request',
      `--as is ${JSON.stringify(wanted)}, expected name or name@version of lower-case letters, digits, ".", "_" and "-".`,
    );
  }
  if (version !== undefined) return { name, version };
  const versions = registry?.models.find((model) => model.name === name)?.versions ?? [];
  const same = versions.find(
    (each) =>
      fields &&
      each.source === fields.source &&
      each.revision === fields.revision &&
      each.variant === fields.variant,
  );
  const numbers = versions.map((each) => Number(each.version)).filter(Number.isInteger);
  return { name, version: same?.version ?? `${Math.max(0, ...numbers) + 1}` };
}

/** The version that a command would make now, in a folder below `home`. Throws LehrError `conflict` when it is there already. */
export async function newRef(name: string, home: string, settings: ToolSettings): Promise<ModelRef> {
  const registry = await readModelsFile(settings);
  const ref = chooseRef(name, undefined, registry);
  if (registry?.find(ref))
    throw new LehrError('conflict', `${ref.name}@${ref.version} is already there; --as names a new version.`);
  refuseFolderInUse(join(home, ref.name, ref.version), registry, settings);
  return ref;
}

/** A model that was renamed in models.yaml keeps its folder, which must not be taken for what a killed command has left. */
function refuseFolderInUse(folder: string, registry: Registry | undefined, settings: ToolSettings): void {
  for (const { name, versions } of registry?.models ?? [])
    for (const each of versions)
      if (versionFolder(each, placesOf(settings)) === folder)
        throw new LehrError(
          'conflict',
          `${folder} is the folder of ${name}@${each.version}; --as names another version.`,
        );
}
