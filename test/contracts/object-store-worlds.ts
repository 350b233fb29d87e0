/** The two implementations of ObjectStore, each with the facts that the contract test needs beyond the interface. */
import { watch } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream } from 'node:stream/web';
import { openFolderStore } from '../../packages/shared/src/objects/folder.ts';
import { objectHeaders, verifyLink } from '../../packages/shared/src/objects/links.ts';
import { openS3Store } from '../../packages/shared/src/objects/s3.ts';
import type { ObjectStore } from '../../packages/shared/src/objects/store.ts';
import { startRadosgw } from '../support/radosgw.ts';

export interface World {
  readonly store: ObjectStore;
  /** The names of these query parameters in the store's links. */
  readonly expiryParameter: string;
  readonly signatureParameter: string;
  /** S3 cannot send the header; the server of a folder store must. */
  readonly sendsNosniff: boolean;
  /** The same store, and a promise that resolves when a put of many MB is half done. */
  interruptible(): Promise<{ readonly store: ObjectStore; readonly midway: Promise<unknown> }>;
  /** Stores that cannot take a write, with the message that their `check()` must reject with. */
  broken(): Promise<readonly { readonly store: ObjectStore; readonly message: RegExp }[]>;
  close(): Promise<void>;
}

export async function openFolderWorld(): Promise<World> {
  const folder = await mkdtemp(join(tmpdir(), 'lehr-objects-'));
  const linkSecret = 'a-secret-of-at-least-32-characters';
  const server = createServer((request, response) => serve(request, response));
  const publicUrl = await listening(server);
  const openStore = (name: string) => openFolderStore({ root: join(folder, name), publicUrl, linkSecret });
  const store = await openStore('store');

  /** Serves links as the API does, in the smallest form. */
  async function serve(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
    const { pathname, searchParams } = new URL(request.url ?? '', publicUrl);
    const verdict = verifyLink(linkSecret, pathname.replace('/objects/', ''), searchParams, Date.now());
    if (verdict.outcome !== 'ok') return response.writeHead(403).end(verdict.outcome);
    const object = await store.get(verdict.key);
    if (!object) return response.writeHead(404).end();
    response.writeHead(200, objectHeaders(object, verdict.filename));
    return pipeline(Readable.fromWeb(object.body as ReadableStream), response);
  }

  return {
    store,
    expiryParameter: 'expires',
    signatureParameter: 'sig',
    sendsNosniff: true,
    interruptible: async () => {
      const watcher = watch(join(folder, 'store', ',writing'));
      const midway = new Promise((resolve) => watcher.once('change', resolve));
      midway.then(() => watcher.close());
      return { store, midway };
    },
    broken: async () => {
      const broken = await openStore('broken');
      await rm(join(folder, 'broken'), { recursive: true });
      await writeFile(join(folder, 'broken'), '');
      return [{ store: broken, message: /object folder cannot take a write: .*\(ENOTDIR\)/ }];
    },
    close: async () => {
      server.close();
      server.closeAllConnections();
      await rm(folder, { recursive: true });
    },
  };
}

export async function openS3World(): Promise<World> {
  const server = await startRadosgw();
  const { endpoint, region, credentials } = server;
  await server.createBucket('lehr-test');
  process.env.AWS_ACCESS_KEY_ID = credentials.accessKeyId;
  process.env.AWS_SECRET_ACCESS_KEY = credentials.secretAccessKey;
  const store = openS3Store({ bucket: 'lehr-test', region, endpoint });
  const proxies: Server[] = [];
  return {
    store,
    expiryParameter: 'X-Amz-Expires',
    signatureParameter: 'X-Amz-Signature',
    sendsNosniff: false,
    interruptible: async () => {
      const proxy = await startStallingProxy(endpoint);
      proxies.push(proxy.server);
      return {
        store: openS3Store({ bucket: 'lehr-test', region, endpoint: proxy.url }),
        midway: proxy.stalled,
      };
    },
    broken: async () => {
      const closed = createTcpServer();
      const closedUrl = await listening(closed);
      closed.close();
      return [
        {
          store: openS3Store({ bucket: 'no-such-bucket', region, endpoint }),
          message: /NoSuchBucket \(HTTP 404\)/,
        },
        { store: openS3Store({ bucket: 'lehr-test', region, endpoint: closedUrl }), message: /ECONNREFUSED/ },
      ];
    },
    close: async () => {
      for (const proxy of proxies) proxy.close();
      await server.stop();
    },
  };
}

/** A proxy that passes on the first MiB of each client and then nothing until the client hangs up. */
async function startStallingProxy(target: string) {
  const { hostname, port } = new URL(target);
  let stall: (value: unknown) => void;
  const stalled = new Promise((resolve) => {
    stall = resolve;
  });
  const server = createTcpServer((client) => {
    const upstream = connect(Number(port), hostname);
    let passed = 0;
    client.on('data', (chunk) => {
      passed += chunk.length;
      if (passed < 2 ** 20) upstream.write(chunk);
      else stall(undefined);
    });
    upstream.pipe(client);
    for (const socket of [client, upstream]) {
      socket.on('error', () => socket.destroy());
      socket.on('close', () => (socket === client ? upstream : client).destroy());
    }
  });
  return { server, stalled, url: await listening(server) };
}

async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
