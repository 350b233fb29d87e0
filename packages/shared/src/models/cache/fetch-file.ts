/** Fetches one file of a source into a folder of its own, which is removed after its use. */
import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { LehrError } from '../../base/errors.ts';
import {
  beginDraft,
  checkSpace,
  chooseFile,
  type FetchOptions,
  fetchAll,
  makeFolder,
} from './fetch-model.ts';
import { acquireLock } from './lock.ts';
import { openRemote } from './open-remote.ts';
import { checkPath } from './remote.ts';
import { type SourceFile, sourceFields } from './source.ts';

interface FetchedFile {
  readonly path: string;
  /** Until then no other process fetches the same file to the same place. */
  remove(): Promise<void>;
}

/** `place` is how the path of the folder begins. Rejects with a LehrError; after what may pass, what was fetched stays for the next attempt. */
export async function fetchFile(
  { source, name }: SourceFile,
  place: string,
  options: Omit<FetchOptions, 'cache'>,
): Promise<FetchedFile> {
  const { signal, onEvent } = options;
  checkPath(name);
  const digest = createHash('sha256').update(JSON.stringify([sourceFields(source), name]));
  const folder = `${place}-${digest.digest('hex').slice(0, 12)}`;
  await makeFolder(dirname(place));
  const lock = await acquireLock(`${folder}.lock`, signal, () => onEvent?.({ type: 'waiting' }));
  try {
    const held = AbortSignal.any([signal, lock.lost]);
    const remote = await openRemote(source, options);
    const listing = await remote.list(held, name);
    const files = chooseFile(listing, { source, name });
    await beginDraft(folder, listing);
    await checkSpace(folder, files);
    await fetchAll(folder, files, remote, listing, { ...options, signal: held });
    const remove = () => rm(folder, { recursive: true, force: true }).finally(() => lock.release());
    return { path: join(folder, name), remove };
  } catch (error) {
    const mayPass = !(error instanceof LehrError) || ['unavailable', 'rate-limited'].includes(error.code);
    if (!mayPass) await rm(folder, { recursive: true, force: true });
    await lock.release();
    throw error;
  }
}
