/** A proxy between a client and the API that injects faults: lost answers, cut streams, refused connections. */
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { served } from '../support/served.ts';

/**
 * What happens to one request. `lose-answer` closes the connection after the API has answered in full; `refuse` closes it before the
 * API receives the request; `hang` never answers; `cutAfter` closes it after that many events of a stream; an object with a status
 * is the answer of the proxy itself.
 */
export type Fault =
  | 'pass'
  | 'lose-answer'
  | 'refuse'
  | 'hang'
  | { readonly cutAfter: number }
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string };

export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  /** Monotonic, ms. */
  readonly at: number;
}

export interface FaultyProxy {
  readonly url: string;
  readonly requests: readonly ReceivedRequest[];
  /** Injects these faults into the next requests, in order. Later requests pass. */
  inject(...faults: Fault[]): void;
  /** Resolves when the proxy has received this many requests. */
  received(count: number): Promise<void>;
}

export async function faultyProxy(target: string): Promise<FaultyProxy> {
  const faults: Fault[] = [];
  const requests: ReceivedRequest[] = [];
  const waiting = new Set<() => void>();
  const server = createServer((incoming, outgoing) => {
    const { method = 'GET', url: path = '/', headers } = incoming;
    requests.push({ method, path, headers, at: performance.now() });
    for (const check of waiting) check();
    handle(faults.shift() ?? 'pass', target, incoming, outgoing);
  });
  const url = await served(server);
  return {
    url,
    requests,
    inject: (...next) => {
      faults.push(...next);
    },
    received: (count) =>
      new Promise((resolve) => {
        const check = (): void => {
          if (requests.length < count) return;
          waiting.delete(check);
          resolve();
        };
        waiting.add(check);
        check();
      }),
  };
}

function handle(fault: Fault, target: string, incoming: IncomingMessage, outgoing: ServerResponse): void {
  if (fault === 'refuse') return void incoming.socket.destroy();
  if (fault === 'hang') return;
  if (typeof fault === 'object' && 'status' in fault) {
    outgoing.writeHead(fault.status, fault.headers).end(fault.body);
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
    if (fault === 'lose-answer') {
      answer.resume().once('end', () => outgoing.destroy());
      return;
    }
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
    if (typeof fault === 'string') {
      answer.pipe(outgoing);
      return;
    }
    let events = 0;
    answer.on('data', (chunk: Buffer) => {
      outgoing.write(chunk);
      events += chunk.toString().split('\ndata: ').length - 1;
      if (events >= fault.cutAfter) setImmediate(() => outgoing.destroy());
    });
    answer.once('end', () => outgoing.end());
  });
}
