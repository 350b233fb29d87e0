/**
 * Begins the requests of a connection one after the other: each when the answer to the one before is sent. Node begins all requests of
 * one packet at once (HTTP pipelining), so a caller could make the event loop begin hundreds of them in one turn. Answers have the
 * order of their requests in any case, so nothing is answered later for it but by the work of the requests before.
 */
import type { RequestListener } from 'node:http';
import type { Socket } from 'node:net';

/** A connection with more unanswered requests is closed. Common clients send one at a time. */
const MAX_UNANSWERED = 16;

/** The requests of a connection that have not begun, while another one of it is answered. */
type Following = (() => void)[];

export function oneAtATime(listener: RequestListener): RequestListener {
  const connections = new WeakMap<Socket, Following>();
  return (request, response) => {
    const { socket } = request;
    // The rest of a packet whose connection was closed here.
    if (socket.destroyed) return;
    const begin = (): void => {
      response.once('close', () => beginNext(socket));
      listener(request, response);
    };
    const following = connections.get(socket);
    if (!following) {
      connections.set(socket, []);
      begin();
    } else if (following.length + 1 < MAX_UNANSWERED) {
      following.push(begin);
    } else {
      socket.destroy();
    }
  };

  function beginNext(socket: Socket): void {
    const next = socket.destroyed ? undefined : connections.get(socket)?.shift();
    if (next) next();
    else connections.delete(socket);
  }
}
