/** The folder that fetched models are kept in: `<source>-<digest>/` for each, and what is being fetched under `.partial/`. */
import { readdir, rm, stat, utimes } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { ignore } from '../../objects/errno.ts';
import { tryLock } from './lock.ts';
import { MANIFEST, type Manifest, readManifest } from './manifest.ts';
import type { RemoteOptions } from './open-remote.ts';

export const PARTIAL = '.partial';

/** Held by the process that fetches this model. */
export const lockOf = (cache: string, name: string): string => join(cache, PARTIAL, `${name}.lock`);

export const modelCacheFolder = (home: string): string => join(home, 'models');

export interface CachedModel {
  /** Its name in the cache. */
  readonly name: string;
  readonly folder: string;
  /** Undefined while it is incomplete. */
  readonly manifest: Manifest | undefined;
  /** On the disk. */
  readonly bytes: number;
  readonly lastUsedAt: Date;
}

/** The one that was used longest ago first. */
export async function listCache(cache: string): Promise<CachedModel[]> {
  const [complete, partial] = await Promise.all([entries(cache), entries(join(cache, PARTIAL))]);
  const found = await Promise.all([
    ...complete.map((name) => describe(name, join(cache, name))),
    ...partial.map((name) => describe(name, join(cache, PARTIAL, name))),
  ]);
  const models = found.filter((model) => model !== undefined);
  return models.sort((a, b) => a.lastUsedAt.getTime() - b.lastUsedAt.getTime());
}

async function entries(folder: string): Promise<string[]> {
  const found = await readdir(folder, { withFileTypes: true }).catch(ignore('ENOENT'));
  return (found ?? [])
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
    .map(({ name }) => name);
}

/** Undefined when another process has removed it meanwhile, or renamed it because its fetch is complete. */
async function describe(name: string, folder: string): Promise<CachedModel | undefined> {
  const [manifest, size] = await Promise.all([readManifest(folder), measure(folder).catch(ignore('ENOENT'))]);
  if (!size) return undefined;
  const used = await stat(join(folder, MANIFEST)).catch(ignore('ENOENT'));
  return { name, folder, manifest, bytes: size.bytes, lastUsedAt: used?.mtime ?? size.changedAt };
}

async function measure(folder: string): Promise<{ readonly bytes: number; readonly changedAt: Date }> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true });
  const infos = await Promise.all(
    found.map((entry) => stat(join(entry.parentPath, entry.name)).catch(ignore('ENOENT'))),
  );
  const files = infos.filter((info) => info?.isFile() === true);
  const own = await stat(folder);
  return {
    bytes: files.reduce((sum, info) => sum + (info?.size ?? 0), 0),
    changedAt: new Date(Math.max(own.mtimeMs, ...files.map((info) => info?.mtimeMs ?? 0))),
  };
}

/** Notes that the model was used now; the time of its manifest is where that is kept. */
export async function markUsed(folder: string): Promise<void> {
  await utimes(join(folder, MANIFEST), new Date(), new Date()).catch(ignore('ENOENT'));
}

/** False for what another process is fetching, which stays. */
export async function removeCached(cache: string, { name, folder }: CachedModel): Promise<boolean> {
  const drafts = join(cache, PARTIAL);
  const isDraft = dirname(folder) === drafts;
  const lock = isDraft ? await tryLock(lockOf(cache, name)) : undefined;
  if (isDraft && !lock) return false;
  try {
    await rm(folder, { recursive: true, force: true });
    return true;
  } finally {
    await lock?.release();
  }
}

/** What another worker may be using is kept: workers mark their models far more often than this. */
const RECENT_MS = 3_600_000;

/**
 * Removes models that were not used for longest until the cache has at most `maxBytes`. Those of `keep` (names in the cache) and
 * those used in the last hour stay, so it may remain larger. Returns what was removed.
 */
export async function evict(
  cache: string,
  maxBytes: number,
  keep: ReadonlySet<string>,
  now = Date.now(),
): Promise<CachedModel[]> {
  const models = await listCache(cache);
  let bytes = models.reduce((sum, model) => sum + model.bytes, 0);
  const removed: CachedModel[] = [];
  for (const model of models) {
    if (bytes <= maxBytes) break;
    if (keep.has(model.name) || now - model.lastUsedAt.getTime() < RECENT_MS) continue;
    if (!(await removeCached(cache, model))) continue;
    bytes -= model.bytes;
    removed.push(model);
  }
  return removed;
}

export interface CacheVariables {
  readonly LEHR_HOME: string;
  readonly LEHR_MODEL_CACHE?: string | undefined;
  readonly LEHR_MODEL_CACHE_GB?: number | undefined;
  readonly AWS_REGION: string;
  readonly AWS_ENDPOINT_URL_S3?: string | undefined;
  readonly HF_ENDPOINT: string;
  readonly HF_TOKEN?: string | undefined;
}

export interface CacheSettings extends RemoteOptions {
  /** Absolute. */
  readonly cache: string;
  /** Undefined: models are never removed by themselves. */
  readonly maxBytes: number | undefined;
}

const GB = 1e9;

export const cacheSettings = (variables: CacheVariables): CacheSettings => ({
  cache: resolve(variables.LEHR_MODEL_CACHE ?? modelCacheFolder(variables.LEHR_HOME)),
  maxBytes:
    variables.LEHR_MODEL_CACHE_GB === undefined ? undefined : Math.round(variables.LEHR_MODEL_CACHE_GB * GB),
  hub: { endpoint: variables.HF_ENDPOINT, token: variables.HF_TOKEN },
  s3: { region: variables.AWS_REGION, endpoint: variables.AWS_ENDPOINT_URL_S3 },
});
