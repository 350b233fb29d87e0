/** An S3 server that keeps objects in memory and answers as a test scripts it: errors, silence, cut connections, slowness. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { served } from '../../test/support/served.ts';

/** `hang` reads nothing and never answers; `cut` closes the connection in the middle of the body; `slow` reads 1 kB/s. */
export type S3Fault = { readonly status: number; readonly code: string } | 'hang' | 'cut' | 'slow';

export interface S3Request {
  readonly method: string;
  readonly key: string;
}

export interface ScriptedS3 {
  readonly endpoint: string;
  readonly bucket: string;
  readonly region: string;
  /** The environment of a process that uses this server. */
  readonly env: Readonly<Record<string, string>>;
  readonly objects: ReadonlyMap<string, Stored>;
  /** The requests so far. */
  readonly requests: readonly S3Request[];
  /** Decides about each request; undefined lets it work. */
  faults(faultOf: (request: S3Request) => S3Fault | undefined): void;
}

interface Stored {
  readonly bytes: Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

const BUCKET = 'outputs';
const SLOW_BYTES_PER_S = 1000;

export async function scriptedS3(): Promise<ScriptedS3> {
  const objects = new Map<string, Stored>();
  const requests: S3Request[] = [];
  let faultOf: (request: S3Request) => S3Fault | undefined = () => undefined;
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://s3');
    const key = decodeURIComponent(pathname).replace(`/${BUCKET}`, '').replace(/^\//, '');
    const asked = { method: request.method ?? 'GET', key };
    requests.push(asked);
    // A client that gives up closes the connection.
    for (const stream of [request, response]) stream.on('error', () => {});
    const fault = faultOf(asked);
    if (fault !== undefined && fault !== 'slow') return misbehave(fault, request, response);
    if (fault === 'slow') slowDown(request);
    answer(objects, key, searchParams, request, response);
  });
  server.keepAliveTimeout = 60_000;
  const endpoint = await served(server);
  return {
    endpoint,
    bucket: BUCKET,
    region: 'us-east-1',
    env: {
      LEHR_S3_BUCKET: BUCKET,
      AWS_ENDPOINT_URL_S3: endpoint,
      AWS_ACCESS_KEY_ID: 'chaos',
      AWS_SECRET_ACCESS_KEY: 'chaos',
    },
    objects,
    requests,
    faults: (next) => {
      faultOf = next;
    },
  };
}

function misbehave(
  fault: Exclude<S3Fault, 'slow'>,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  if (fault === 'hang') return;
  if (fault === 'cut') {
    // After the first bytes of the body, if there is one.
    request.once('data', () => request.socket.destroy()).once('end', () => request.socket.destroy());
    return;
  }
  request.resume().once('end', () => fail(response, fault.status, fault.code));
}

function slowDown(request: IncomingMessage): void {
  request.on('data', (chunk: Buffer) => {
    request.pause();
    setTimeout(() => request.resume(), (chunk.length / SLOW_BYTES_PER_S) * 1000);
  });
}

function fail(response: ServerResponse, status: number, code: string): void {
  response.writeHead(status, { 'content-type': 'application/xml' });
  response.end(`<?xml version="1.0"?><Error><Code>${code}</Code><Message>scripted</Message></Error>`);
}

function answer(
  objects: Map<string, Stored>,
  key: string,
  query: URLSearchParams,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  if (request.method === 'PUT') {
    put(objects, key, request, response);
    return;
  }
  if (request.method === 'POST' && query.has('delete')) {
    removeAll(objects, request, response);
    return;
  }
  request.resume();
  if (request.method === 'DELETE') {
    objects.delete(key);
    response.writeHead(204).end();
    return;
  }
  if (query.get('list-type') === '2') {
    const keys = [...objects.keys()].filter((each) => each.startsWith(query.get('prefix') ?? ''));
    const contents = keys.map((each) => `<Contents><Key>${each}</Key><Size>1</Size></Contents>`).join('');
    response.writeHead(200, { 'content-type': 'application/xml' });
    response.end(
      `<?xml version="1.0"?><ListBucketResult><IsTruncated>false</IsTruncated>${contents}</ListBucketResult>`,
    );
    return;
  }
  const found = objects.get(key);
  if (!found) fail(response, 404, 'NoSuchKey');
  else response.writeHead(200, found.headers).end(request.method === 'HEAD' ? undefined : found.bytes);
}

function removeAll(objects: Map<string, Stored>, request: IncomingMessage, response: ServerResponse): void {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    for (const [, key = ''] of Buffer.concat(chunks)
      .toString()
      .matchAll(/<Key>([^<]*)<\/Key>/g)) {
      objects.delete(key);
    }
    response.writeHead(200, { 'content-type': 'application/xml' });
    response.end('<?xml version="1.0"?><DeleteResult></DeleteResult>');
  });
}

/** Stores the object only when its body is whole. */
function put(
  objects: Map<string, Stored>,
  key: string,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    if (!request.complete) return;
    const bytes = Buffer.concat(chunks);
    const kept = Object.entries(request.headers).filter(
      ([name]) => name === 'content-type' || name.startsWith('x-amz-meta-'),
    );
    const headers = Object.fromEntries(kept.map(([name, value]) => [name, String(value)]));
    objects.set(key, { bytes, headers: { ...headers, 'content-length': `${bytes.length}` } });
    response.writeHead(200, { etag: '"scripted"' }).end();
  });
}
