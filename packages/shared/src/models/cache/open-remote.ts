import { folderRemote } from './folder-remote.ts';
import { httpsRemote } from './https-remote.ts';
import { commitOf, type HubOptions, hubRemote } from './hub-remote.ts';
import type { Remote } from './remote.ts';
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
