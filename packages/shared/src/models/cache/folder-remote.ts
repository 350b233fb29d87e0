/** A folder of this machine, such as one on a network file system. */
import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { LehrError } from '../../base/errors.ts';
import { codeOf, ignore } from '../../objects/errno.ts';
import { listingOf, listingOfFiles, readManifest } from './manifest.ts';
import type { Listing, Remote } from './remote.ts';
import type { ModelSource } from './source.ts';

export const folderRemote = ({ path: folder }: Extract<ModelSource, { kind: 'folder' }>): Remote => ({
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
