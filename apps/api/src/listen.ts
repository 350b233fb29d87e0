/** The HTTP server: binds first, so that a taken port is known before anything else is opened. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import { LehrError, PROBLEM_MEDIA_TYPE, toProblem } from '@lehr/shared';
import { StartError } from './start-error.ts';

type Fetch = (request: Request, bindings: HttpBindings) => Response | Promise<Response>;

/** Above the 60 s that proxies keep a connection: it must not close in the moment they send on it. */
const KEEP_ALIVE_MS = 75_000;
const SWEEP_MS = 50;

export interface Listener {
  readonly port: number;
  /** From here on requests go to `fetch`; until then they are answered 503. */
  serve(fetch: Fetch): void;
  /** Takes no new connections, lets requests under way finish for `graceMs`, then cuts. */
  close(graceMs: number): Promise<void>;
}

/** Throws StartError when the address cannot be had. */
export async function listen(host: string, port: number): Promise<Listener> {
  let fetch: Fetch = () => refused(new LehrError('unavailable', 'Starting; try again.'));
  const listener = getRequestListener((request, bindings) => fetch(request, bindings as HttpBindings), {
    errorHandler: () => refused(new LehrError('invalid-request', 'The request is malformed.')),
  });
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, listener);
  await bound(server, host, port);
  return {
    port: (server.address() as AddressInfo).port,
    serve: (next) => {
      fetch = next;
    },
    close: (graceMs) => closed(server, graceMs),
  };
}

async function bound(server: Server, host: string, port: number): Promise<void> {
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, host, () => {
        server.off('error', reject);
        resolve();
      });
    });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const why =
      code === 'EADDRINUSE' ? 'it is taken. Stop what runs there or set LEHR_PORT' : (code ?? message);
    throw new StartError('unavailable', `Cannot listen on ${host} port ${port}: ${why}.`, { cause: error });
  }
}

async function closed(server: Server, graceMs: number): Promise<void> {
  const end = new Promise((resolve) => server.close(resolve));
  // Connections become idle one by one as their last answer goes out.
  const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS);
  const cut = setTimeout(() => server.closeAllConnections(), graceMs);
  await end;
  clearInterval(sweep);
  clearTimeout(cut);
}

/** For what happens outside the app, where no request has an id yet. */
function refused(error: LehrError): Response {
  const id = crypto.randomUUID();
  return new Response(JSON.stringify(toProblem(error, id)), {
    status: error.status,
    headers: {
      'content-type': PROBLEM_MEDIA_TYPE,
      'x-request-id': id,
      ...(error.status === 503 && { 'retry-after': '1' }),
    },
  });
}
