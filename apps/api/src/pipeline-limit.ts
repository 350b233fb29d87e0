/**
 * Limits the requests that a connection sends before earlier ones are answered (HTTP pipelining). Node begins all requests of one
 * packet at once, so a caller could make the event loop begin hundreds of them in one turn. Common clients send one at a time.
 */
import type { RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export const MAX_UNANSWERED = 16;

/** A connection with more unanswered requests is closed. */
export function limitPipeline(listener: RequestListener): RequestListener {
  const unanswered = new WeakMap<Socket, Set<ServerResponse>>();
  return (request, response) => {
    const { socket } = request;
    // The rest of a packet whose connection was closed here.
    if (socket.destroyed) return;
    const responses = unanswered.get(socket) ?? responsesOf(socket);
    unanswered.set(socket, responses);
    if (responses.size === MAX_UNANSWERED) {
      socket.destroy();
      return;
    }
    responses.add(response);
    response.once('close', () => responses.delete(response));
    listener(request, response);
  };
}

/** Node closes only the response whose turn it is when the connection ends; the others would never learn of the end. */
function responsesOf(socket: Socket): Set<ServerResponse> {
  const responses = new Set<ServerResponse>();
  socket.once('close', () => {
    for (const response of responses) response.destroy().emit('close');
  });
  return responses;
}
