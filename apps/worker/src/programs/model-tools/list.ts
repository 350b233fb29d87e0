/** `lehr models list`: the models of models.yaml, and what else the cache holds. */
import { existsSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type CachedModel, listCache, namesInCache, versionFolder } from '@lehr/shared/model-cache';
import { listParts } from './list-parts.ts';
import type { ListedModel, ToolEvent } from './tool-event.ts';
import { placesOf, readModelsFile, type ToolSettings } from './tool-settings.ts';

export async function list(settings: ToolSettings): Promise<ToolEvent> {
  const registry = await readModelsFile(settings);
  const cached = await listCache(settings.cache.cache);
  const named: ListedModel[] = [];
  for (const { name, task, versions } of registry?.models ?? []) {
    for (const version of versions) {
      const folder = versionFolder(version, placesOf(settings));
      const inCache = cached.filter((each) => folder.endsWith(`/${each.name}`));
      const isFetched = version.source !== undefined;
      named.push({
        model: `${name}@${version.version}`,
        task,
        source: version.source ?? null,
        folder,
        ...(isFetched ? stateInCache(inCache) : await stateOfFolder(folder)),
      });
    }
  }
  const names = registry ? namesInCache(registry) : new Set<string>();
  const unnamed = cached
    .filter(({ name }) => !names.has(name))
    .map(
      (each): ListedModel => ({
        model: null,
        task: each.manifest?.task ?? null,
        source: each.manifest?.source ?? null,
        folder: each.folder,
        ...stateInCache([each]),
      }),
    );
  const cacheBytes = cached.reduce((sum, { bytes }) => sum + bytes, 0);
  return {
    type: 'list',
    models: [...named, ...unnamed],
    parts: (
      await Promise.all((registry?.models ?? []).map((model) => listParts(model, placesOf(settings))))
    ).flat(),
    cache: settings.cache.cache,
    cache_bytes: cacheBytes,
  };
}

type State = Pick<ListedModel, 'state' | 'bytes' | 'last_used_at'>;

/** A model may be there both complete and, from an interrupted fetch, incomplete. */
function stateInCache(found: readonly CachedModel[]): State {
  const best = found.find(({ manifest }) => manifest !== undefined) ?? found[0];
  if (!best) return { state: 'missing', bytes: 0, last_used_at: null };
  return {
    state: best.manifest ? 'ready' : 'incomplete',
    bytes: best.bytes,
    last_used_at: best.lastUsedAt.toISOString(),
  };
}

async function stateOfFolder(folder: string): Promise<State> {
  if (!existsSync(folder)) return { state: 'missing', bytes: 0, last_used_at: null };
  const info = await stat(folder);
  if (!info.isDirectory()) return { state: 'not a folder', bytes: info.size, last_used_at: null };
  const names = await readdir(folder, { recursive: true });
  const infos = await Promise.all(names.map((name) => stat(join(folder, name))));
  const bytes = infos.reduce((sum, info) => sum + (info.isFile() ? info.size : 0), 0);
  return { state: 'ready', bytes, last_used_at: null };
}
