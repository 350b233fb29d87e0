/** A folder on a web server. HTTP has no list of files, so the folder needs a manifest, as every fetched folder has one. */
import { LehrError } from '../../base/errors.ts';
import { bodyOf, bodyOffset, get, getJson } from './http-get.ts';
import { listingOf, MANIFEST, parseManifest } from './manifest.ts';
import type { Remote } from './remote.ts';
import type { ModelSource } from './source.ts';

export const httpsRemote = ({ url }: Extract<ModelSource, { kind: 'https' }>): Remote => ({
  list: async (signal) => {
    const { value } = await getJson(`${url}${MANIFEST}`, { signal }).catch(withAdvice);
    const manifest = parseManifest(JSON.stringify(value));
    if (!manifest) throw new LehrError('model-unavailable', `${url}${MANIFEST} is not a manifest of Lehr.`);
    return listingOf(manifest);
  },
  open: async (file, offset, _listing, signal) => {
    const path = file.path.split('/').map(encodeURIComponent).join('/');
    const response = await get(`${url}${path}`, { signal, offset });
    return { offset: bodyOffset(response, offset), body: bodyOf(response) };
  },
});

function withAdvice(error: unknown): never {
  if (!(error instanceof LehrError) || error.code !== 'not-found') throw error;
  throw new LehrError(
    'not-found',
    `${error.message} A folder on a web server needs this list of its files: fetch the model with lehr models pull, and copy its folder of the cache to the server.`,
    { cause: error },
  );
}
