import { commitOf } from './hub-remote.ts';
import type { RemoteOptions } from './open-remote.ts';
import type { ModelSource } from './source.ts';

/** The same source with the commit that its branch or tag stands for now, so that every machine gets the same files. */
export async function pinRevision(
  source: ModelSource,
  { hub }: RemoteOptions,
  signal: AbortSignal,
): Promise<ModelSource> {
  return source.kind === 'hub' ? { ...source, revision: await commitOf(source, hub, signal) } : source;
}
