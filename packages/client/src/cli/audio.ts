import { basename } from 'node:path';
import type { Lehr } from '../lehr.ts';
import { readInput } from './read-input.ts';

/** The server takes some more inside a request. */
const MAX_INLINE_BYTES = 10_000_000;

/**
 * What goes into a job's `audio`. A link is left to Lehr to fetch. A file goes inside the request, so that the same command
 * makes the same request and an idempotency key holds; one that is too large for that is uploaded before.
 */
export async function audioOf(source: string, lehr: Lehr, signal: AbortSignal): Promise<string> {
  if (/^(?:https?|data):/.test(source)) return source;
  const bytes = await readInput(source);
  if (bytes.byteLength <= MAX_INLINE_BYTES) {
    return `data:application/octet-stream;base64,${bytes.toString('base64')}`;
  }
  const { urls } = await lehr.upload(bytes, { name: basename(source), signal });
  return urls.get;
}
