/** A folder of this machine, such as one on a network file system. */
import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { LehrError } from '../errors.ts';
import { listingOf, listingOfFiles } from './listing-of.ts';
import { readManifest } from './manifest.ts';
import type { Listing, Remote } from './remote.ts';
import type { ModelSource } from './source.ts';

export const folderRemote = ({ path: folder }: Extract<ModelSource, { kind: 'folder' }>): Remote => ({
  async list(): Promise<Listing> {
    const manifest = await readManifest(folder);
    if (manifest) return listingOf(manifest);
    const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch((cause) => {
      throw new LehrError('not-found', `The folder ${folder} cannot be read.`, { cause });
    });
    const found = await Promise.all(
      entries
        .filter((entry) => !entry.isDirectory())
        .map(async (entry) => {
          const full = join(entry.parentPath, entry.name);
          const info = await stat(full);
          const path = full
            .slice(folder.replace(/\/+$/, '').length + 1)
            .split(sep)
            .join('/');
          return { path, bytes: info.size, isFile: info.isFile(), changed: `${info.mtimeMs}` };
        }),
    );
    const files = found.filter(({ isFile }) => isFile);
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
