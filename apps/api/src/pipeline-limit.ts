/**
 * Limits the requests that a connection sends before earlier ones are answered (HTTP pipelining). Node begins all requests of one
 * packet at once, so a caller could make the event loop begin hundreds of them in one turn. Common clients send one at a time.
 */
import type { RequestListener } from 'node:http';
import type { Socket } from 'node:net';

export const MAX_UNANSWERED = 16;

/** A connection with more unanswered requests is closed. */
export function limitPipeline(listener: RequestListener): RequestListener {
  const unanswered = new WeakMap<Socket, number>();
  const count = (socket: Socket, change: number): number => {
    const requests = (unanswered.get(socket) ?? 0) + change;
    unanswered.set(socket, requests);
    return requests;
  };
  return (request, response) => {
    const { socket } = request;
    // The rest of a packet whose connection was closed here.
    if (socket.destroyed) return;
    if (count(socket, 1) > MAX_UNANSWERED) {
      socket.destroy();
      return;
    }
    response.once('close', () => count(socket, -1));
    listener(request, response);
  };
}
