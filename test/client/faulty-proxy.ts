/** What stands between a client and the API and loses things: answers, streams, or all connections. */
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/**
 * What happens to one request: `lose-answer` lets the API answer in full and then hangs up; `refuse` hangs up before the API
 * hears of it; `cutAfter` passes that many events of a stream and hangs up; an object with a status is answered here.
 */
export type Fate =
  | 'pass'
  | 'lose-answer'
  | 'refuse'
  | 'hang'
  | { readonly cutAfter: number }
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string };

export interface Passed {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  /** Monotonic, ms. */
  readonly at: number;
}

export interface FaultyProxy {
  readonly url: string;
  readonly requests: readonly Passed[];
  /** Of the next requests, in order; those after them pass. */
  fate(...fates: Fate[]): void;
  /** Resolves when so many requests have come. */
  came(count: number): Promise<void>;
}

export async function faultyProxy(target: string): Promise<FaultyProxy> {
  const fates: Fate[] = [];
  const requests: Passed[] = [];
  const waiting = new Set<() => void>();
  const server = createServer((incoming, outgoing) => {
    const { method = 'GET', url: path = '/', headers } = incoming;
    requests.push({ method, path, headers, at: performance.now() });
    for (const look of waiting) look();
    meet(fates.shift() ?? 'pass', target, incoming, outgoing);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    fate: (...next) => {
      fates.push(...next);
    },
    came: (count) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (requests.length < count) return;
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        look();
      }),
  };
}

function meet(fate: Fate, target: string, incoming: IncomingMessage, outgoing: ServerResponse): void {
  if (fate === 'refuse') return void incoming.socket.destroy();
  if (fate === 'hang') return;
  if (typeof fate === 'object' && 'status' in fate) {
    outgoing.writeHead(fate.status, fate.headers).end(fate.body);
    return;
  }
  const onward = request(new URL(incoming.url ?? '/', target), {
    method: incoming.method,
    headers: incoming.headers,
  });
  incoming.pipe(onward);
  outgoing.once('close', () => onward.destroy());
  onward.once('error', () => outgoing.destroy());
  onward.once('response', (answer) => {
    if (fate === 'lose-answer') {
      answer.resume().once('end', () => outgoing.destroy());
      return;
    }
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
    if (typeof fate === 'string') {
      answer.pipe(outgoing);
      return;
    }
    let events = 0;
    answer.on('data', (chunk: Buffer) => {
      outgoing.write(chunk);
      events += chunk.toString().split('\ndata: ').length - 1;
      if (events >= fate.cutAfter) setImmediate(() => outgoing.destroy());
    });
    answer.once('end', () => outgoing.end());
  });
}
