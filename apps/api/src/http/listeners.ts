/** The listeners of an API process: the public one, and that of operations when LEHR_OPERATIONS_PORT is set. */
import { type Log, operationsAddress } from '@lehr/shared';
import type { ApiConfig } from '../base/env.ts';
import { UPLOAD_PACE } from './bodies/body-reads.ts';
import { connectionLimit } from './connections.ts';
import { type Fetch, type Listener, listen, type ServeOptions } from './listen.ts';

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
