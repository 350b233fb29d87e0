import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';

/** Lower-case hex. */
export function sha256Hex(body: Uint8Array): string {
  return createHash('sha256').update(body).digest('hex');
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
