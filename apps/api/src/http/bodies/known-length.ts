/** Reads a body whose length is known into one buffer. */
import type { Readable } from 'node:stream';
import { LehrError } from '@lehr/shared';

/**
 * Each byte is copied once. The buffer shares no memory, so that it can be transferred to a thread. Rejects with
 * `invalid-request` when the body ends early or its caller has hung up.
 */
export function readKnownLength(source: Readable, length: number): Promise<Uint8Array<ArrayBuffer>> {
  if (source.destroyed) return Promise.reject(brokenOff());
  const body = new Uint8Array(Buffer.allocUnsafeSlow(length).buffer);
  let received = 0;
  return new Promise((resolve, reject) => {
    const take = (chunk: Buffer): void => {
      // The server passes no more bytes than the stated length.
      body.set(chunk.subarray(0, length - received), received);
      received += chunk.length;
    };
    const stop = (): void => {
      source.off('data', take).off('end', end).off('close', fail);
    };
    const end = (): void => {
      stop();
      if (received === length) resolve(body);
      else reject(brokenOff());
    };
    const fail = (): void => {
      stop();
      reject(brokenOff());
    };
    // A caller that hangs up makes an error and then `close`.
    source.on('error', () => {});
    source.on('data', take).once('end', end).once('close', fail);
  });
}

const brokenOff = (): LehrError => new LehrError('invalid-request', 'The body ends before it is complete.');
