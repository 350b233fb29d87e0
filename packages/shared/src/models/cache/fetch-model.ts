/**
 * Fetches a model into the cache: one process of a machine at a time, into a folder with a temporary name, which is
 * renamed when every file is verified.
 */
import { mkdir, readFile, rename, rm, statfs, writeFile } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { LehrError } from '../../base/errors.ts';
import type { ModelVersion } from '../registry.ts';
import { lockOf, PARTIAL } from './cache.ts';
import { type ChosenFile, chooseFiles } from './choose-files.ts';
import { DOWNLOAD_TIMES, type DownloadTimes, download, partOf, sizeOf } from './download.ts';
import { acquireLock } from './lock.ts';
import { type Manifest, readManifest, writeManifest } from './manifest.ts';
import { openRemote, type RemoteOptions } from './open-remote.ts';
import { checkPath, type Listing, type Remote } from './remote.ts';
import {
  fileAddress,
  type ModelSource,
  parseSource,
  parseTypedFile,
  type SourceFields,
  type SourceFile,
  sourceFields,
  sourceFolder,
} from './source.ts';

export interface FetchOptions extends RemoteOptions {
  /** The folder of the cache. */
  readonly cache: string;
  readonly signal: AbortSignal;
  readonly times?: DownloadTimes;
  readonly onEvent?: (event: FetchEvent) => void;
}

export type FetchEvent =
  /** Another process is fetching this model. */
  | { readonly type: 'waiting' }
  /** `doneBytes` of `totalBytes` are here; sent once at the start and then for every chunk. */
  | { readonly type: 'progress'; readonly doneBytes: number; readonly totalBytes: number }
  | { readonly type: 'retry'; readonly message: string; readonly pauseMs: number };

export interface FetchedModel {
  readonly folder: string;
  readonly manifest: Manifest;
  /** False when it was there already. */
  readonly isNew: boolean;
}

/** Files at the same time: enough for many small ones, and not more than a hub allows. */
const PARALLEL = 4;
/** Left free for everything else on the disk. */
const SPARE_BYTES = 256 * 1024 * 1024;
/** In a folder that is not complete: the revision that its files belong to. */
const REVISION_FILE = 'lehr-partial.json';

/** What is fetched into one folder of the cache. */
interface Wanted {
  readonly source: ModelSource;
  /** Of the folder. */
  readonly name: string;
  /** The one file that is wanted. */
  readonly file?: string;
}

function wantedOf(fields: SourceFields): Wanted {
  const file = fields.part && parseTypedFile(fields.source, fields.revision);
  if (file)
    return { source: file.source, name: sourceFolder(file.source, undefined, file.name), file: file.name };
  const source = parseSource(fields);
  return { source, name: sourceFolder(source, fields.variant) };
}

/** Where the model is, or will be. */
export const cachedFolder = (cache: string, fields: SourceFields): string =>
  join(cache, wantedOf(fields).name);

/** Resolves with the folder of the complete model. Rejects with a LehrError; what was fetched stays for the next attempt. */
export async function fetchModel(fields: SourceFields, options: FetchOptions): Promise<FetchedModel> {
  const { cache, signal, onEvent } = options;
  const { source, name, file } = wantedOf(fields);
  const folder = join(cache, name);
  const present = await readManifest(folder);
  if (present) return { folder, manifest: present, isNew: false };
  await makeFolder(join(cache, PARTIAL));
  const lock = await acquireLock(lockOf(cache, name), signal, () => onEvent?.({ type: 'waiting' }));
  try {
    const fetchedMeanwhile = await readManifest(folder);
    if (fetchedMeanwhile) return { folder, manifest: fetchedMeanwhile, isNew: false };
    const held = AbortSignal.any([signal, lock.lost]);
    const draft = join(cache, PARTIAL, name);
    const remote = await openRemote(source, options);
    const content = { fields, source, file };
    const manifest = await fillDraft(draft, content, remote, { ...options, signal: held });
    held.throwIfAborted();
    await rm(folder, { recursive: true, force: true });
    await rename(draft, folder);
    return { folder, manifest, isNew: true };
  } finally {
    await lock.release();
  }
}

async function fillDraft(
  draft: string,
  { fields, source, file }: Pick<Wanted, 'source' | 'file'> & { readonly fields: SourceFields },
  remote: Remote,
  options: FetchOptions,
): Promise<Manifest> {
  const listing = await remote.list(options.signal, file);
  const { task, files } =
    file === undefined
      ? chooseFiles(listing.files, fields.variant)
      : { task: 'diffusion' as const, files: chooseFile(listing, { source, name: file }) };
  // Files that are not fetched may have any name.
  for (const { path, target } of files) {
    checkPath(path);
    checkPath(target);
  }
  await beginDraft(draft, listing);
  await checkSpace(draft, files);
  const digests = await fetchAll(draft, files, remote, listing, options);
  const manifest: Manifest = {
    schema: 1,
    source: file === undefined ? sourceFields(source).source : fileAddress({ source, name: file }),
    revision: listing.revision,
    ...(fields.variant !== undefined && { variant: fields.variant }),
    task,
    fetched_at: new Date().toISOString(),
    files: files.map(({ target, bytes }, i) => ({ path: target, bytes, sha256: digests[i] })),
  };
  await rm(join(draft, REVISION_FILE), { force: true });
  await writeManifest(draft, manifest);
  return manifest;
}

/** What PEFT calls the file of an adapter, and the file beside it that says how strong it is. */
const [PEFT_FILE, PEFT_CONFIG] = ['adapter_model.safetensors', 'adapter_config.json'];

/** The file, and what belongs to it where the source lists that. Throws LehrError `not-found`. */
export function chooseFile({ files }: Listing, { source, name }: SourceFile): ChosenFile[] {
  const wanted = name === PEFT_FILE ? [PEFT_FILE, PEFT_CONFIG] : [name];
  const found = files.filter(({ path }) => wanted.includes(path));
  if (!found.some(({ path }) => path === name))
    throw new LehrError('not-found', `${sourceFields(source).source} has no file ${name}.`);
  return found.map((file) => ({ ...file, target: file.path }));
}

/** Files of another revision are removed: only a file's digest would tell them apart, and not every source names one. */
export async function beginDraft(draft: string, { revision }: Listing): Promise<void> {
  const path = join(draft, REVISION_FILE);
  if ((await readFile(path, 'utf8').catch(() => undefined)) === revision) return;
  await rm(draft, { recursive: true, force: true });
  await makeFolder(draft);
  await writeFile(path, revision);
}

export async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true });
  } catch (cause) {
    throw new LehrError('storage-failed', `${folder} cannot be written: ${(cause as Error).message}.`, {
      cause,
    });
  }
}

export async function checkSpace(draft: string, files: readonly ChosenFile[]): Promise<void> {
  let missing = 0;
  for (const { target, bytes } of files) missing += bytes - (await bytesHere(join(draft, target)));
  if (missing > 0) await checkFreeSpace(draft, missing);
}

/** Throws LehrError `storage-failed` when a model of so many bytes would leave too little of the disk. */
export async function checkFreeSpace(folder: string, missing: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  const free = bavail * bsize;
  if (missing + SPARE_BYTES <= free) return;
  throw new LehrError(
    'storage-failed',
    `The model needs ${gigabytes(missing)} more; ${folder} has ${gigabytes(free)} free, of which ${gigabytes(SPARE_BYTES)} stay free. lehr models list shows what the cache holds.`,
  );
}

const gigabytes = (bytes: number): string => `${(bytes / 1e9).toFixed(2)} GB`;

const bytesHere = async (path: string): Promise<number> =>
  Math.max(await sizeOf(path), await sizeOf(partOf(path)));

/** Returns the SHA-256 of each file. After a failure the other downloads are stopped. */
export async function fetchAll(
  draft: string,
  files: readonly ChosenFile[],
  remote: Remote,
  listing: Listing,
  options: Omit<FetchOptions, 'cache'>,
): Promise<string[]> {
  const { onEvent, times = DOWNLOAD_TIMES } = options;
  const failed = new AbortController();
  const signal = AbortSignal.any([options.signal, failed.signal]);
  const totalBytes = files.reduce((sum, { bytes }) => sum + bytes, 0);
  let doneBytes = 0;
  for (const { target } of files) doneBytes += await bytesHere(join(draft, target));
  const onBytes = (bytes: number): void => {
    doneBytes += bytes;
    onEvent?.({ type: 'progress', doneBytes, totalBytes });
  };
  onBytes(0);
  const digests: string[] = [];
  const queue = files.map((file, index) => ({ file, index }));
  const fetchOne = async (file: ChosenFile): Promise<string> => {
    const path = join(draft, file.target);
    // A file that an earlier process completed is read again: its digest goes into the manifest.
    if ((await sizeOf(path)) > 0) await rename(path, partOf(path));
    return download({
      remote,
      listing,
      file,
      path,
      signal,
      times,
      onBytes,
      onRetry: ({ message }, pauseMs) => onEvent?.({ type: 'retry', message, pauseMs }),
    });
  };
  const lines = Array.from({ length: PARALLEL }, async () => {
    for (let next = queue.shift(); next; next = queue.shift()) {
      digests[next.index] = await fetchOne(next.file);
    }
  });
  try {
    await Promise.all(lines);
  } catch (error) {
    failed.abort();
    await Promise.allSettled(lines);
    throw error;
  }
  return digests;
}

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
