/** Fetches the bytes of a job's audio: from the store, or from the caller's URL through the egress guard. */
import { type AudioSource, LehrError, toObjectKey } from '@lehr/shared';
import { type Egress, EgressError } from '@lehr/shared/egress';
import type { ObjectStore } from '@lehr/shared/objects';

/** Rejects with a LehrError: `invalid-input`, `too-large` or `storage-failed`. */
export type FetchAudio = (audio: AudioSource, signal: AbortSignal) => Promise<Uint8Array>;

export interface AudioSourceOptions {
  readonly store: ObjectStore;
  readonly egress: Egress;
  readonly maxBytes: number;
}

const FETCH_TIMEOUT_MS = 60_000;

export const audioSource =
  ({ store, egress, maxBytes }: AudioSourceOptions): FetchAudio =>
  async (audio, signal) => {
    if (audio.kind === 'url') return fetchUrl(egress, audio.url, maxBytes, signal);
    const object = await store.get(toObjectKey(audio.key));
    if (!object) throw unfetched('the uploaded file has been deleted');
    return collect(object.body, signal);
  };

async function fetchUrl(
  egress: Egress,
  url: string,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Uint8Array> {
  // The connection of a body that is not read would stay open until the timeout.
  const closing = new AbortController();
  try {
    const answer = await egress.get(url, {
      timeoutMs: FETCH_TIMEOUT_MS,
      maxBytes,
      signal: AbortSignal.any([signal, closing.signal]),
    });
    if (answer.status === 200) return await collect(answer.body, signal);
    const isRedirect = answer.status >= 300 && answer.status < 400;
    throw unfetched(`its URL answered ${answer.status}${isRedirect ? '; redirects are not followed' : ''}`);
  } catch (error) {
    if (!(error instanceof EgressError)) throw error;
    if (error.fault !== 'too-large') throw unfetched(error.message, error);
    throw new LehrError('too-large', `The audio has more than the ${maxBytes} bytes allowed.`, {
      cause: error,
    });
  } finally {
    closing.abort();
  }
}

async function collect(body: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) {
    signal.throwIfAborted();
    chunks.push(chunk);
  }
  const bytes = new Uint8Array(chunks.reduce((sum, { byteLength }) => sum + byteLength, 0));
  let offset = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, offset);
    offset += chunk.byteLength;
  }
  return bytes;
}

const unfetched = (why: string, cause?: unknown): LehrError =>
  new LehrError('invalid-input', `The audio could not be fetched: ${why}.`, { cause });
