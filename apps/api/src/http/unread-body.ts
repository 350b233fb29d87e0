/**
 * Ends requests that are answered before their body is read, as most refusals are. A short rest is read, so that the connection
 * stays open for the next request. With a longer one the connection closes after the answer: a caller without a key could
 * otherwise make the server read without end.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';

const MAX_REST_BYTES = 256 * 1024;
const MAX_REST_MS = 100;
/** A socket that is closed while its caller sends is reset, and the caller may lose the answer. So a little more is read first. */
const LINGER_BYTES = 8 * 1024 * 1024;
const LINGER_MS = 500;

/** Call it before the answer is sent, when the body is not complete. */
export async function finishBody(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  if (incoming.destroyed) return;
  const isShort = Number(incoming.headers['content-length'] ?? 0) <= MAX_REST_BYTES;
  if (isShort && (await hasShortRest(incoming))) return;
  // Node sends "Connection: close", and calls destroySoon() when the answer is written.
  outgoing.shouldKeepAlive = false;
  let isLingering = false;
  incoming.socket.destroySoon = () => {
    if (!isLingering) linger(incoming);
    isLingering = true;
  };
}

/** Ends the answer, and closes the socket when the body is complete or the caller has had time to see the answer. */
function linger(incoming: IncomingMessage): void {
  const { socket } = incoming;
  let bytes = 0;
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(timer)).end();
  incoming.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > LINGER_BYTES) socket.destroy();
  });
  incoming.once('end', () => socket.destroy()).resume();
}

/** Reads the rest. False when it is too long, comes too slowly or breaks off. */
function hasShortRest(incoming: IncomingMessage): Promise<boolean> {
  return new Promise((resolve) => {
    let bytes = 0;
    const end = (isRead: boolean): void => {
      clearTimeout(timer);
      incoming.off('data', count).off('end', complete).off('close', broken).pause();
      resolve(isRead);
    };
    const count = (chunk: Buffer): void => {
      bytes += chunk.length;
      if (bytes > MAX_REST_BYTES) end(false);
    };
    const complete = (): void => end(true);
    const broken = (): void => end(false);
    const timer = setTimeout(broken, MAX_REST_MS);
    // A caller that hangs up emits an error and then `close`.
    incoming.on('error', () => {});
    incoming.on('data', count).on('end', complete).on('close', broken).resume();
  });
}
