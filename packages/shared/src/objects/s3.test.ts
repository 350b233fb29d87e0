import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ulid } from 'ulid';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { toObjectKey } from '../base/ids.ts';
import { openS3Store } from './s3.ts';
import type { S3StoreOptions } from './s3-client.ts';

const KEY = toObjectKey('outputs/job/1/0.png');
const BODY = Buffer.from('a picture');
const PNG = { contentType: 'image/png' };
const SECRET = 'the-secret-access-key';
const FOUND = { 'content-length': 9, 'content-type': 'image/png', 'x-amz-meta-sha256': 'ab'.repeat(32) };

beforeEach(() => {
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'the-access-key-id');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', SECRET);
});
afterEach(() => vi.unstubAllEnvs());

/** A server that answers like an S3 server with faults; the contract suite uses a healthy one. */
async function listen(answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const open = (options: Partial<S3StoreOptions>) =>
  openS3Store({ bucket: 'lehr', region: 'eu-central-1', maxAttempts: 3, ...options });

async function read(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks);
}

test('Opening an S3 store silences the warning about the Node version and no other warning', async () => {
  vi.stubEnv('AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED', undefined);
  const emitted = vi.spyOn(process, 'emitWarning');
  onTestFinished(() => emitted.mockRestore());
  open({});
  expect(emitted).not.toHaveBeenCalled();
  expect(process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED).toBe('true');
  expect(process.env.NODE_NO_WARNINGS).toBeUndefined();
});

test('A put is retried when the server answers SlowDown, with the same bytes each time', async () => {
  const bodies: string[] = [];
  const endpoint = await listen(async (request, response) => {
    bodies.push((await read(request)).toString());
    if (bodies.length < 3) response.writeHead(503).end('<Error><Code>SlowDown</Code></Error>');
    else response.end();
  });
  await open({ endpoint }).put(KEY, BODY, PNG);
  expect(bodies).toEqual(['a picture', 'a picture', 'a picture']);
});

test('A put to a server that always fails is given up after the configured attempts', async () => {
  let attempts = 0;
  const endpoint = await listen(async (request, response) => {
    attempts++;
    await read(request);
    response.writeHead(500).end('<Error><Code>InternalError</Code><Message>secret details</Message></Error>');
  });
  await expect(open({ endpoint }).put(KEY, BODY, PNG)).rejects.toMatchObject({
    code: 'storage-failed',
    message: `Could not store ${KEY}: InternalError (HTTP 500).`,
    cause: expect.objectContaining({ name: 'InternalError' }),
  });
  expect(attempts).toBe(3);
});

test('A put to a server that never answers is given up after the configured time', async () => {
  const endpoint = await listen((request) => request.resume());
  const store = open({ endpoint, requestTimeoutMs: 100, maxAttempts: 2 });
  await expect(store.put(KEY, BODY, PNG)).rejects.toMatchObject({
    code: 'storage-failed',
    message: `Could not store ${KEY}: TimeoutError (ETIMEDOUT).`,
  });
});

test('Reading an answer that stops in the middle rejects with storage-failed', async () => {
  const endpoint = await listen((_, response) => {
    response.writeHead(200, FOUND).write('half');
  });
  const object = await open({ endpoint, requestTimeoutMs: 200 }).get(KEY);
  await expect(new Response(object?.body).text()).rejects.toMatchObject({ code: 'storage-failed' });
});

test('A cancelled body closes its socket', async () => {
  let closed: Promise<unknown> | undefined;
  const endpoint = await listen((_, response) => {
    response.writeHead(200, FOUND).write('half');
    closed = once(response, 'close');
  });
  await (await open({ endpoint }).get(KEY))?.body.cancel();
  await expect(closed).resolves.toBeDefined();
});

test('Reading an object that Lehr did not store fails', async () => {
  const endpoint = await listen((_, response) => response.end('anything'));
  await expect(open({ endpoint }).get(KEY)).rejects.toThrow('it was not stored by Lehr');
});

test('Check gives up on a server that does not answer before the attempts run out', async () => {
  const endpoint = await listen((request) => request.resume());
  await expect(open({ endpoint, checkTimeoutMs: 100 }).check()).rejects.toMatchObject({
    code: 'storage-failed',
    message: 'The bucket lehr cannot take a write: no answer within 100 ms.',
  });
});

test('A put to a server other than AWS has a signed SHA-256 of the body, no checksum headers and no chunks', async () => {
  let headers: IncomingMessage['headers'] = {};
  const endpoint = await listen(async (request, response) => {
    headers = request.headers;
    await read(request);
    response.end();
  });
  await open({ endpoint }).put(KEY, BODY, PNG);
  expect(headers).toMatchObject({ 'content-length': '9', 'content-type': 'image/png' });
  expect(headers['x-amz-content-sha256']).toBe(headers['x-amz-meta-sha256']);
  expect(Object.keys(headers).filter((name) => /checksum|trailer|encoding/.test(name))).toEqual([]);
});

test('Links are signed for the public endpoint and for 15 minutes, without checksum parameters', async () => {
  const store = open({ endpoint: 'http://minio:9000', publicEndpoint: 'https://files.example' });
  const link = new URL(await store.link(KEY));
  expect(link.origin + link.pathname).toBe(`https://files.example/lehr/${KEY}`);
  expect(link.searchParams.get('X-Amz-Expires')).toBe('900');
  expect([...link.searchParams.keys()].filter((name) => /checksum/i.test(name))).toEqual([]);
  expect(link.href).not.toContain(SECRET);
});

test('Without an endpoint links point to AWS, with the bucket in the host name', async () => {
  const link = new URL(await open({}).link(KEY));
  expect(link.host).toBe('lehr.s3.eu-central-1.amazonaws.com');
});

test('Old objects of S3 are found without reading the pages of younger ones', async () => {
  const NOW = 1_700_000_000_000;
  const id = (at: number) => ulid(at).toLowerCase();
  const keys = ['a', 'b'].flatMap((tenant) => [
    `out/${tenant}/job_${id(1000)}/0.png`,
    ...Array.from({ length: 5_000 }, (_, i) => `out/${tenant}/job_${id(NOW + i)}/0.png`),
  ]);
  let requests = 0;
  const endpoint = await listen((request, response) => {
    requests++;
    const query = new URL(request.url ?? '', 'http://s3').searchParams;
    const [prefix, after] = [query.get('prefix') ?? '', query.get('start-after') ?? ''];
    const found = keys.filter((key) => key.startsWith(prefix) && key > after);
    const contents = found.slice(0, 1000).map((key) => `<Contents><Key>${key}</Key></Contents>`);
    response.setHeader('content-type', 'application/xml');
    response.end(
      `<ListBucketResult><IsTruncated>${found.length > 1000}</IsTruncated>${contents.join('')}</ListBucketResult>`,
    );
  });
  const found: string[] = [];
  for await (const slice of open({ endpoint }).listMadeBefore(NOW)) found.push(...slice);
  expect(found).toEqual(keys.filter((_, i) => i % 5_001 === 0));
  // Two tenants below out/, the end of out/, and nothing below in/; not the ten pages of all keys.
  expect(requests).toBeLessThanOrEqual(4);
});

test('A thousand objects are deleted with one request, and the first one that S3 refuses is reported', async () => {
  const bodies: string[] = [];
  const endpoint = await listen(async (request, response) => {
    bodies.push((await read(request)).toString());
    response.setHeader('content-type', 'application/xml');
    response.end('<DeleteResult><Error><Key>k/7</Key><Code>AccessDenied</Code></Error></DeleteResult>');
  });
  const keys = Array.from({ length: 1_000 }, (_, i) => toObjectKey(`k/${i}`));
  await expect(open({ endpoint }).deleteMany(keys)).rejects.toMatchObject({
    code: 'storage-failed',
    message: 'Could not delete objects: AccessDenied.',
  });
  expect(bodies.map((body) => body.match(/<Key>/g)?.length)).toEqual([1_000]);
});

test('Objects are deleted one by one in a server that cannot delete many at once', async () => {
  const deleted: string[] = [];
  const endpoint = await listen(async (request, response) => {
    await read(request);
    if (request.method === 'POST') response.writeHead(501).end('<Error><Code>NotImplemented</Code></Error>');
    else {
      deleted.push(request.url?.split('?')[0] ?? '');
      response.writeHead(204).end();
    }
  });
  await open({ endpoint, maxAttempts: 1 }).deleteMany([toObjectKey('k/1'), toObjectKey('k/2')]);
  expect(deleted.sort()).toEqual(['/lehr/k/1', '/lehr/k/2']);
});
