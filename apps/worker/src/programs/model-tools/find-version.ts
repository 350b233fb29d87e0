/** Finds a version that is on this machine. */
import { existsSync } from 'node:fs';
import { LehrError, type ModelEntry } from '@lehr/shared';
import { versionFolder } from '@lehr/shared/model-cache';
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
