/** `lehr models remove`: takes a version out of models.yaml, and its files out of the cache. */
import { LehrError, withoutVersion } from '@lehr/shared';
import { listCache, namesInCache, removeCached } from '@lehr/shared/model-cache';
import type { ToolEvent } from './tool-event.ts';
import { changeModelsFile, readModelsFile, type ToolSettings } from './tool-settings.ts';

export interface RemoveRequest {
  /** `name@version`; undefined with `unused`. */
  readonly model?: string | undefined;
  /** Also every folder of the cache that models.yaml does not name. */
  readonly unused: boolean;
}

/** The folder of a version with a `path` belongs to the installation and stays. */
export async function remove({ model, unused }: RemoveRequest, settings: ToolSettings): Promise<ToolEvent> {
  const before = await readModelsFile(settings);
  const namedBefore = before ? namesInCache(before) : new Set<string>();
  if (model !== undefined) {
    const [name, version, ...rest] = model.split('@');
    if (version === undefined || rest.length > 0) {
      throw new LehrError(
        'invalid-request',
        `${JSON.stringify(model)} is not a model, expected name@version.`,
      );
    }
    await changeModelsFile(settings, (text) => withoutVersion(text, { name, version }));
  }
  const after = await readModelsFile(settings);
  const named = after ? namesInCache(after) : new Set<string>();
  const removed: string[] = [];
  const kept: string[] = [];
  let bytes = 0;
  for (const each of await listCache(settings.cache.cache)) {
    // Another version may have the same source.
    if (named.has(each.name) || !(unused || namedBefore.has(each.name))) continue;
    if (!(await removeCached(settings.cache.cache, each))) {
      kept.push(each.folder);
      continue;
    }
    removed.push(each.folder);
    bytes += each.bytes;
  }
  return { type: 'removed', removed, kept, bytes };
}
