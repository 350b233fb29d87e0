export {
  type CachedModel,
  type CacheSettings,
  type CacheVariables,
  cacheSettings,
  evict,
  listCache,
  markUsed,
  modelCacheFolder,
  removeCached,
} from './cache.ts';
export { DOWNLOAD_TIMES, type DownloadTimes } from './download.ts';
export { fetchFile } from './fetch-file.ts';
export {
  cachedFolder,
  checkFreeSpace,
  type FetchEvent,
  type FetchedModel,
  type FetchOptions,
  fetchModel,
  type ModelPlaces,
  sourceOf,
  versionFolder,
} from './fetch-model.ts';
export type { HubOptions } from './hub-remote.ts';
export { acquireLock } from './lock.ts';
export { MANIFEST, type Manifest, readManifest } from './manifest.ts';
export { pinRevision, type RemoteOptions } from './open-remote.ts';
export { adapterPath, controlFolder, namesInCache, partFiles, partsToFetch } from './parts.ts';
export {
  type ModelSource,
  parseSource,
  parseTyped,
  parseTypedFile,
  type SourceFields,
  slugOf,
  sourceFields,
  sourceName,
} from './source.ts';
