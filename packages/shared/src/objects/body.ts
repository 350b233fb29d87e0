import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';

/** Hashed at once: some milliseconds on a slow machine. */
const SLICE_BYTES = 1024 * 1024;

/** Lower-case hex. Other work of the event loop runs between the slices of a large body. */
export async function sha256Hex(body: Uint8Array): Promise<string> {
  const hash = createHash('sha256');
  for (let start = 0; start < body.byteLength; start += SLICE_BYTES) {
    if (start > 0) await setImmediate();
    hash.update(body.subarray(start, start + SLICE_BYTES));
  }
  return hash.digest('hex');
}

/**
 * A Node stream as a web stream. It reads nothing before its first pull, destroys the source when it is cancelled (also
 * before the first pull), and rejects with `failed(error)` instead of a plain file or socket error.
 */
export function readableBody(
  source: Readable,
  failed: (error: unknown) => Error,
): ReadableStream<Uint8Array> {
  let chunks: AsyncIterator<Uint8Array> | undefined;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        chunks ??= source[Symbol.asyncIterator]();
        const { done, value } = await chunks.next().catch((error) => {
          throw failed(error);
        });
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel() {
        source.destroy();
      },
    },
    { highWaterMark: 0 },
  );
}
