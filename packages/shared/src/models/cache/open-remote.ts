/** Opens the source of a model: a hub, a web server, a folder of this machine, or a bucket. */
import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { LehrError } from '../../base/errors.ts';
import { codeOf, ignore } from '../../objects/errno.ts';
import { bodyOf, bodyOffset, get, getJson } from './http-get.ts';
import { commitOf, type HubOptions, hubRemote } from './hub-remote.ts';
import { listingOf, listingOfFiles, MANIFEST, parseManifest, readManifest } from './manifest.ts';
import type { Listing, Remote } from './remote.ts';
import type { S3RemoteOptions } from './s3-remote.ts';
import type { ModelSource } from './source.ts';

export interface RemoteOptions {
  readonly hub: HubOptions;
  readonly s3: S3RemoteOptions;
}

/** Does not connect yet. */
export async function openRemote(source: ModelSource, { hub, s3 }: RemoteOptions): Promise<Remote> {
  switch (source.kind) {
    case 'hub':
      return hubRemote(source, hub);
    case 'https':
      return httpsRemote(source);
    case 'folder':
      return folderRemote(source);
    case 's3': {
      // Loaded only here, because the SDK costs 0.1 s and 25 MB.
      const { s3Remote } = await import('./s3-remote.ts');
      return s3Remote(source, s3);
    }
  }
}

/** The same source with the commit that its branch or tag stands for now, so that every machine gets the same files. */
export async function pinRevision(
  source: ModelSource,
  { hub }: RemoteOptions,
  signal: AbortSignal,
): Promise<ModelSource> {
  return source.kind === 'hub' ? { ...source, revision: await commitOf(source, hub, signal) } : source;
}

/** A folder of this machine, such as one on a network file system. */
const folderRemote = ({ path: folder }: Extract<ModelSource, { kind: 'folder' }>): Remote => ({
  async list(): Promise<Listing> {
    const manifest = await readManifest(folder);
    if (manifest) return listingOf(manifest);
    const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch((cause) => {
      const isFile = codeOf(cause) === 'ENOTDIR';
      const why = isFile ? 'is a file; a model is a folder with its configs and graphs' : 'cannot be read';
      throw new LehrError('not-found', `${folder} ${why}.`, { cause });
    });
    const found = await Promise.all(
      entries
        .filter((entry) => !entry.isDirectory())
        .map(async (entry) => {
          const full = join(entry.parentPath, entry.name);
          // A link that leads nowhere is no file of the model; one that is needed is missed by chooseFiles.
          const info = await stat(full).catch(ignore('ENOENT'));
          if (!info?.isFile()) return [];
          const path = relative(folder, full).split(sep).join('/');
          return [{ path, bytes: info.size, changed: `${info.mtimeMs}` }];
        }),
    );
    const files = found.flat();
    return listingOfFiles(
      files.map(({ path, bytes }) => ({ path, bytes })),
      files.map(({ changed }) => changed),
    );
  },
  open: async (file, offset) => ({
    offset,
    body: createReadStream(join(folder, file.path), { start: offset }),
  }),
});

/**
 * A folder on a web server. HTTP has no list of files, so the folder needs a manifest, as every fetched folder has one; not so for one file,
 * of which the server says the length.
 */
const httpsRemote = ({ url }: Extract<ModelSource, { kind: 'https' }>): Remote => ({
  list: async (signal, only) => {
    if (only !== undefined) return listingOfOne(url, only, signal);
    const { value } = await getJson(`${url}${MANIFEST}`, { signal }).catch(withAdvice);
    const manifest = parseManifest(JSON.stringify(value));
    if (!manifest) throw new LehrError('model-unavailable', `${url}${MANIFEST} is not a manifest of Lehr.`);
    return listingOf(manifest);
  },
  open: async (file, offset, _listing, signal) => {
    const response = await get(addressOf(url, file.path), { signal, offset });
    return { offset: bodyOffset(response, offset), body: bodyOf(response) };
  },
});

const addressOf = (url: string, path: string): string =>
  `${url}${path.split('/').map(encodeURIComponent).join('/')}`;

async function listingOfOne(url: string, path: string, signal: AbortSignal): Promise<Listing> {
  const address = addressOf(url, path);
  const { headers, body } = await get(address, { signal });
  await body?.cancel();
  const length = headers.get('content-length');
  // Without it a file that ends early could not be told from a whole one, nor one without an end be refused.
  if (length === null)
    throw new LehrError('model-unavailable', `${address} is answered without its length (Content-Length).`);
  const tag = headers.get('etag') ?? headers.get('last-modified') ?? '';
  return listingOfFiles([{ path, bytes: Number(length) }], [tag]);
}

function withAdvice(error: unknown): never {
  if (!(error instanceof LehrError) || error.code !== 'not-found') throw error;
  throw new LehrError(
    'not-found',
    `${error.message} A folder on a web server needs this list of its files: fetch the model with lehr models pull, and copy its folder of the cache to the server.`,
    { cause: error },
  );
}
