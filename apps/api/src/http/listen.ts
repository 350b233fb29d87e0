/**
 * The HTTP servers of an API process: the public one, and that of operations when LEHR_OPERATIONS_PORT is set. They bind their ports first,
 * so that a port in use is found before anything else is opened.
 */
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import { LehrError, type Log, operationsAddress, PROBLEM_MEDIA_TYPE, toProblem } from '@lehr/shared';
import type { ApiConfig } from '../base/env.ts';
import { StartError } from '../base/start-error.ts';
import { UPLOAD_PACE } from './bodies/body-reads.ts';
import { ConnectionShares, connectionLimit, finishBody, oneAtATime } from './connections.ts';

export type Fetch = (request: Request, bindings: HttpBindings) => Response | Promise<Response>;

/** Above the 60 s for which proxies keep a connection: it must not close just as a proxy sends a request. */
const KEEP_ALIVE_MS = 75_000;
const CLOSE_IDLE_EVERY_MS = 50;
/** From the first byte of a request to the end of its headers; for a new connection, from its start. */
const HEADERS_TIMEOUT_MS = 10_000;
/** Node looks for connections that are past their timeouts this often. */
const CHECK_TIMEOUTS_EVERY_MS = 1000;
const REPORT_DROPS_EVERY_MS = 60_000;

export interface ListenOptions {
  /** The variable that sets the port, for the error when it is in use. */
  readonly variable?: string;
  /** When there are so many, connections.ts says which one is closed. Absent: no limit. */
  readonly maxConnections?: number;
  /** From the first byte of a request to the end of its body; more than the slowest upload takes. */
  readonly requestTimeoutMs?: number;
  /** Called at most once a minute when connections are closed for `maxConnections`. */
  readonly onDrop?: () => void;
}

/** Whose a connection is (ConnectionShares), by its last request, or by its address while there was none. */
export type OwnerOf = (socket: Socket, incoming?: IncomingMessage) => string | undefined;

interface ServeOptions {
  /** Called for each new connection. */
  readonly onConnection?: () => void;
  readonly ownerOf?: OwnerOf;
}

export interface Listener {
  readonly port: number;
  /** Sends requests to `fetch` from now on; before, they are answered with 503. */
  serve(fetch: Fetch, options?: ServeOptions): void;
  /** Takes no new connections, gives requests under way `graceMs` to finish, then cuts their connections. */
  close(graceMs: number): Promise<void>;
}

/** Throws StartError when it cannot bind the address. */
export async function listen(
  host: string,
  port: number,
  { variable = 'LEHR_PORT', maxConnections, requestTimeoutMs = 300_000, onDrop }: ListenOptions = {},
): Promise<Listener> {
  let fetch: Fetch = () =>
    refused(new LehrError('unavailable', 'The server is starting. Retry the request.'));
  const answer = async (request: Request, bindings: HttpBindings): Promise<Response> => {
    const response = await fetch(request, bindings);
    if (!bindings.incoming.complete) await finishBody(bindings.incoming, bindings.outgoing);
    return response;
  };
  const listener = getRequestListener((request, bindings) => answer(request, bindings as HttpBindings), {
    errorHandler: () => refused(new LehrError('invalid-request', 'The request is malformed.')),
  });
  const timeouts = {
    keepAliveTimeout: KEEP_ALIVE_MS,
    headersTimeout: HEADERS_TIMEOUT_MS,
    requestTimeout: requestTimeoutMs,
    connectionsCheckingInterval: CHECK_TIMEOUTS_EVERY_MS,
  };
  const server = createServer(timeouts, oneAtATime(listener));
  let ownerOf: OwnerOf = () => undefined;
  if (maxConnections !== undefined) {
    const report = atMostEvery(REPORT_DROPS_EVERY_MS, onDrop ?? (() => {}));
    limitConnections(server, maxConnections, (...of) => ownerOf(...of), report);
  }
  await bound(server, host, port, variable);
  return {
    port: (server.address() as AddressInfo).port,
    serve: (next, options = {}) => {
      fetch = next;
      ownerOf = options.ownerOf ?? ownerOf;
      if (options.onConnection) server.on('connection', options.onConnection);
    },
    close: (graceMs) => closed(server, graceMs),
  };
}

function limitConnections(server: Server, max: number, ownerOf: OwnerOf, onDrop: () => void): void {
  const shares = new ConnectionShares<Socket>(max);
  server.on('connection', (socket) => {
    if (shares.open(socket, ownerOf(socket))) {
      socket.once('close', () => shares.close(socket));
    } else {
      socket.destroy();
      onDrop();
    }
  });
  server.on('request', (incoming, outgoing) => {
    const { socket } = incoming;
    shares.begin(socket, ownerOf(socket, incoming));
    outgoing.on('close', () => shares.end(socket));
  });
}

async function bound(server: Server, host: string, port: number, variable: string): Promise<void> {
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
      code === 'EADDRINUSE' ? `it is taken. Stop what runs there or set ${variable}` : (code ?? message);
    throw new StartError('unavailable', `Cannot listen on ${host} port ${port}: ${why}.`, { cause: error });
  }
}

async function closed(server: Server, graceMs: number): Promise<void> {
  const end = new Promise((resolve) => server.close(resolve));
  // A connection becomes idle when its last answer is sent.
  const sweep = setInterval(() => server.closeIdleConnections(), CLOSE_IDLE_EVERY_MS);
  const cut = setTimeout(() => server.closeAllConnections(), graceMs);
  await end;
  clearInterval(sweep);
  clearTimeout(cut);
}

/** For errors outside the app, before a request has an id. */
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

function atMostEvery(ms: number, report: () => void): () => void {
  let nextAt = 0;
  return () => {
    if (performance.now() < nextAt) return;
    nextAt = performance.now() + ms;
    report();
  };
}

/** Fewer where the process may open too few files. */
const MAX_CONNECTIONS = 10_000;
/** Probes, scrapers and a few operators. */
const MAX_OPERATIONS_CONNECTIONS = 100;
/** Time for the body of an upload in addition to what its pace allows, so that the route and not the server refuses a slow one. */
const REQUEST_SPARE_MS = 30_000;
const BYTES_PER_MB = 1_000_000;

export interface Listeners {
  readonly port: number;
  readonly operationsPort: number | undefined;
  /** `app` and the options are for the public listener. */
  serve(apps: { readonly app: Fetch; readonly operations: Fetch | undefined } & ServeOptions): void;
  close(graceMs: number): Promise<void>;
}

/** Throws StartError when an address cannot be bound; nothing is left open then. */
export async function openListeners(config: ApiConfig, log: Log): Promise<Listeners> {
  const maxConnections = connectionLimit(MAX_CONNECTIONS);
  const main = await listen(config.LEHR_HOST, config.LEHR_PORT, {
    maxConnections,
    requestTimeoutMs: requestTimeoutMs(config.LEHR_MAX_UPLOAD_MB * BYTES_PER_MB),
    onDrop: () => log.warn({ maxConnections }, 'connections are refused: too many are open'),
  });
  let operations: Listener | undefined;
  try {
    if (config.LEHR_OPERATIONS_PORT !== undefined) {
      const { host, port } = operationsAddress(config.LEHR_OPERATIONS_PORT);
      operations = await listen(host, port, {
        variable: 'LEHR_OPERATIONS_PORT',
        maxConnections: MAX_OPERATIONS_CONNECTIONS,
      });
    }
  } catch (error) {
    await main.close(0);
    throw error;
  }
  return {
    port: main.port,
    operationsPort: operations?.port,
    serve: (apps) => {
      main.serve(apps.app, apps);
      if (apps.operations) operations?.serve(apps.operations);
    },
    close: async (graceMs) => {
      await Promise.all([main.close(graceMs), operations?.close(graceMs)]);
    },
  };
}

/** The time of the slowest upload that is accepted, and some spare time. */
const requestTimeoutMs = (maxUploadBytes: number): number =>
  UPLOAD_PACE.graceMs + (maxUploadBytes / UPLOAD_PACE.minBytesPerS) * 1000 + REQUEST_SPARE_MS;
