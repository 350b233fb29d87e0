/** Fetches the bytes of a job's audio or picture: from the store, or from the caller's URL through the egress guard. */
import { LehrError, type MediaSource, toObjectKey } from '@lehr/shared';
import { type Egress, EgressError } from '@lehr/shared/egress';
import type { ObjectStore } from '@lehr/shared/objects';

type MediaKind = 'audio' | 'picture';

/** Rejects with a LehrError: `invalid-input`, `too-large` or `storage-failed`. */
export type FetchMedia = (kind: MediaKind, source: MediaSource, signal: AbortSignal) => Promise<Uint8Array>;

export interface MediaSourceOptions {
  readonly store: ObjectStore;
  readonly egress: Egress;
  /** The largest file of each kind. */
  readonly maxBytes: Readonly<Record<MediaKind, number>>;
  /** Before the least pace holds, ms: a server may take long to begin. Tests set another one. */
  readonly graceMs?: number;
}

const FETCH_TIMEOUT_MS = 60_000;
/** The mean of a fetch after GRACE_MS. A slower one would keep its place among the jobs of its tenant for FETCH_TIMEOUT_MS. */
const LEAST_BYTES_PER_S = 16_384;
const GRACE_MS = 10_000;
const PACE_CHECK_MS = 500;

export const mediaSource =
  ({ store, egress, maxBytes, graceMs = GRACE_MS }: MediaSourceOptions): FetchMedia =>
  async (kind, source, signal) => {
    const limit: Limit = { kind, maxBytes: maxBytes[kind] };
    if (source.kind === 'url') return fetchUrl(egress, source.url, { ...limit, graceMs }, signal);
    const object = await store.get(toObjectKey(source.key));
    if (!object) throw unfetched(kind, 'the file has been deleted.');
    return collect(object.body, limit, signal);
  };

interface Limit {
  readonly kind: MediaKind;
  readonly maxBytes: number;
}

async function fetchUrl(
  egress: Egress,
  url: string,
  { graceMs, ...limit }: Limit & { readonly graceMs: number },
  signal: AbortSignal,
): Promise<Uint8Array> {
  const { kind, maxBytes } = limit;
  // The connection of a body that is not read would stay open until the timeout.
  const closing = new AbortController();
  const startedAt = performance.now();
  let received = 0;
  const pace = setInterval(() => {
    const s = (performance.now() - startedAt) / 1000;
    if (s * 1000 < graceMs || received >= s * LEAST_BYTES_PER_S) return;
    const why = `its URL sent ${received} bytes in ${Math.round(s)} seconds; at least ${LEAST_BYTES_PER_S} bytes a second are needed`;
    closing.abort(unfetched(kind, why));
  }, PACE_CHECK_MS);
  try {
    const answer = await egress.get(url, {
      timeoutMs: FETCH_TIMEOUT_MS,
      maxBytes,
      signal: AbortSignal.any([signal, closing.signal]),
    });
    if (answer.status === 200) {
      return await collect(answer.body, limit, signal, (bytes) => {
        received = bytes;
      });
    }
    const isRedirect = answer.status >= 300 && answer.status < 400;
    throw unfetched(
      kind,
      `its URL answered ${answer.status}${isRedirect ? '; redirects are not followed' : ''}.`,
    );
  } catch (error) {
    if (!(error instanceof EgressError)) throw error;
    if (error.fault !== 'too-large') throw unfetched(kind, error.message, error);
    throw tooLarge(limit, error);
  } finally {
    clearInterval(pace);
    closing.abort();
  }
}

async function collect(
  body: AsyncIterable<Uint8Array>,
  limit: Limit,
  signal: AbortSignal,
  onBytes: (total: number) => void = () => {},
): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let total = 0;
  for await (const chunk of body) {
    signal.throwIfAborted();
    chunks.push(chunk);
    total += chunk.byteLength;
    onBytes(total);
    if (total > limit.maxBytes) throw tooLarge(limit);
  }
  const bytes = new Uint8Array(total);
  let offset = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, offset);
    offset += chunk.byteLength;
  }
  return bytes;
}

const tooLarge = ({ kind, maxBytes }: Limit, cause?: unknown): LehrError =>
  new LehrError('too-large', `The ${kind} has more than the ${maxBytes} bytes allowed.`, { cause });

/** `why` ends with a full stop, as the messages of EgressError do. */
const unfetched = (kind: MediaKind, why: string, cause?: unknown): LehrError =>
  new LehrError('invalid-input', `The ${kind} could not be fetched: ${why}`, { cause });
