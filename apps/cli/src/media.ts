import { basename } from 'node:path';
import type { Lehr } from '@lehr/client';
import { readInput } from './read-input.ts';

/** The server's limit for a whole request is 15 MiB, and base64 adds a third. */
export const MAX_INLINE_BYTES = 10_000_000;

/**
 * Returns the value of a job's `audio`, `image` or `mask`. Lehr itself fetches a link. A file becomes a data URI inside the request, so that the same
 * command sends the same request and its idempotency key matches. A file that is too large for that is uploaded first.
 */
export async function mediaOf(
  source: string,
  lehr: Lehr,
  signal: AbortSignal,
  mostInline = MAX_INLINE_BYTES,
): Promise<string> {
  if (/^(?:https?|data):/.test(source)) return source;
  const bytes = await readInput(source);
  if (bytes.byteLength <= mostInline) {
    return `data:application/octet-stream;base64,${bytes.toString('base64')}`;
  }
  const { urls } = await lehr.upload(bytes, { name: basename(source), signal });
  return urls.get;
}
