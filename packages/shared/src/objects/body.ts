import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';

/** Lower-case hex. */
export function sha256Hex(body: Uint8Array): string {
  return createHash('sha256').update(body).digest('hex');
}

/**
 * A Node stream as a web stream that reads nothing before it is asked to, frees the source when it is cancelled
 * (also before its first read) and rejects with `failed(error)`, so that no caller meets a bare file or socket error.
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
