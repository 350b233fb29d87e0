/**
 * A server that speaks the protocol of the Hugging Face hub, and a second one that stands for the host of its large files. Faults
 * are scripted: each applies to the next requests of a file.
 */
import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { served } from './served.ts';

export interface HubFile {
  readonly bytes: Buffer;
  /** Stored apart, as the hub does with large files: its address redirects to the other host. */
  readonly isLarge?: boolean;
}

export type Fault =
  /** Sends this many bytes, then closes the connection. */
  | { readonly kind: 'cut'; readonly after: number }
  /** Sends this many bytes, then nothing; the connection stays open. */
  | { readonly kind: 'stall'; readonly after: number }
  | { readonly kind: 'damage' }
  | { readonly kind: 'status'; readonly status: number; readonly headers?: Record<string, string> }
  /** Ignores the range, as a cache may. */
  | { readonly kind: 'whole' };

export interface SeenRequest {
  readonly host: 'hub' | 'files';
  readonly path: string;
  readonly range: string | undefined;
  readonly authorization: string | undefined;
}

export interface HubServer {
  readonly endpoint: string;
  readonly commit: string;
  readonly seen: SeenRequest[];
  /** The next requests for the bytes of this file get these faults, one each. */
  fail(path: string, ...faults: readonly Fault[]): void;
  /** Resolves when the bytes of this file were asked for once more. */
  asked(path: string): Promise<void>;
}

export interface HubOptions {
  readonly repo?: string;
  /** Without it, no token is needed. */
  readonly token?: string;
  /** A gated repository shows its list to everyone and its files only to a token in this list. */
  readonly gatedFor?: readonly string[];
  readonly pageSize?: number;
  /** The origin at which the list of files goes on; without it, this server. */
  readonly nextPagesAt?: string;
}

const COMMIT = '0123456789abcdef0123456789abcdef01234567';

export async function startHub(
  files: ReadonlyMap<string, HubFile>,
  options: HubOptions = {},
): Promise<HubServer> {
  const { repo = 'acme/model', pageSize = 1000, nextPagesAt = '' } = options;
  const faults = new Map<string, Fault[]>();
  const seen: SeenRequest[] = [];
  const waiting: { path: string; resolve: () => void }[] = [];
  const note = (host: SeenRequest['host'], path: string, { headers }: IncomingMessage): void => {
    seen.push({ host, path, range: headers.range, authorization: headers.authorization });
  };
  const sendFile = (path: string, request: IncomingMessage, response: ServerResponse): void => {
    for (const entry of waiting.splice(0)) entry.path === path ? entry.resolve() : waiting.push(entry);
    const bytes = files.get(path)?.bytes ?? Buffer.alloc(0);
    send(bytes, faults.get(path)?.shift(), request, response);
  };
  const storage = await listen((request, response) => {
    const path = decodeURIComponent((request.url ?? '').slice(1).split('?')[0]);
    note('files', path, request);
    sendFile(path, request, response);
  });

  const endpoint = await listen((request, response) => {
    const url = new URL(request.url ?? '', 'http://hub');
    const path = decodeURIComponent(url.pathname);
    note('hub', path, request);
    const token = request.headers.authorization?.replace(/^Bearer /, '');
    if (options.token !== undefined && token !== options.token) {
      return refuse(response, 401, 'RepoNotFound', 'Repository Not Found');
    }
    if (path.startsWith(`/api/models/${repo}/revision/`)) {
      if (!/\/(main|v1|[0-9a-f]{40})$/.test(path))
        return refuse(response, 404, 'RevisionNotFound', 'Invalid rev id');
      return json(response, { id: repo, sha: COMMIT });
    }
    if (path.startsWith(`/api/models/${repo}/tree/${COMMIT}`)) {
      return sendTree(files, url, { pageSize, nextPagesAt }, response);
    }
    const resolve = `/${repo}/resolve/${COMMIT}/`;
    const file = path.slice(resolve.length);
    const found = path.startsWith(resolve) ? files.get(file) : undefined;
    if (!found) return refuse(response, 404, 'EntryNotFound', 'Entry not found');
    if (options.gatedFor && !options.gatedFor.includes(token ?? '')) {
      return refuse(response, token === undefined ? 401 : 403, 'GatedRepo', 'Access is restricted');
    }
    if (!found.isLarge) return sendFile(file, request, response);
    response
      .writeHead(302, {
        location: `${storage}/${encodeURIComponent(file)}?signature=abc`,
        'x-linked-etag': `"${sha256(found.bytes)}"`,
        'x-linked-size': found.bytes.byteLength,
        'x-repo-commit': COMMIT,
      })
      .end();
  });

  return {
    endpoint,
    commit: COMMIT,
    seen,
    fail: (path, ...more) => void faults.set(path, [...(faults.get(path) ?? []), ...more]),
    asked: (path) => new Promise((resolve) => waiting.push({ path, resolve })),
  };
}

export const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

const blobSha1 = (bytes: Buffer): string =>
  createHash('sha1').update(`blob ${bytes.byteLength}\0`).update(bytes).digest('hex');

function sendTree(
  files: ReadonlyMap<string, HubFile>,
  url: URL,
  { pageSize, nextPagesAt }: { readonly pageSize: number; readonly nextPagesAt: string },
  response: ServerResponse,
): void {
  const from = Number(url.searchParams.get('cursor') ?? 0);
  const entries = [...files].map(([path, { bytes, isLarge }]) => ({
    type: 'file',
    path,
    size: bytes.byteLength,
    oid: isLarge ? blobSha1(Buffer.from('a pointer')) : blobSha1(bytes),
    ...(isLarge && { lfs: { oid: sha256(bytes), size: bytes.byteLength, pointerSize: 134 } }),
  }));
  const all = [{ type: 'directory', path: 'unet', size: 0, oid: blobSha1(Buffer.alloc(0)) }, ...entries];
  if (from + pageSize < all.length) {
    url.searchParams.set('cursor', `${from + pageSize}`);
    response.setHeader('link', `<${nextPagesAt}${url.pathname}${url.search}>; rel="next"`);
  }
  json(response, all.slice(from, from + pageSize));
}

function send(
  bytes: Buffer,
  fault: Fault | undefined,
  { headers }: IncomingMessage,
  response: ServerResponse,
): void {
  if (fault?.kind === 'status') return void response.writeHead(fault.status, fault.headers).end();
  const [, from = '0'] = /^bytes=(\d+)-$/.exec(headers.range ?? '') ?? [];
  const offset = fault?.kind === 'whole' ? 0 : Number(from);
  const rest = Buffer.from(bytes.subarray(offset));
  if (fault?.kind === 'damage' && rest.byteLength > 0) rest[0] ^= 0xff;
  const range = { 'content-range': `bytes ${offset}-${bytes.byteLength - 1}/${bytes.byteLength}` };
  response.writeHead(offset > 0 ? 206 : 200, {
    'content-length': rest.byteLength,
    ...(offset > 0 && range),
  });
  if (fault?.kind === 'cut') response.write(rest.subarray(0, fault.after), () => response.destroy());
  else if (fault?.kind === 'stall') response.write(rest.subarray(0, fault.after));
  else response.end(rest);
}

function refuse(response: ServerResponse, status: number, code: string, message: string): void {
  response.writeHead(status, { 'x-error-code': code, 'x-error-message': message }).end();
}

function json(response: ServerResponse, value: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

/** Returns its origin. It closes at the end of the test. */
export async function listen(answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  return served(server);
}
