import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { toObjectKey } from '../ids.ts';
import { openS3Store, type S3StoreOptions } from './s3.ts';

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

/** A port that answers as a troubled S3 does; the contract suite talks to a healthy one. */
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

test('opening prints no warning about the Node version and switches no other warning off', async () => {
  vi.stubEnv('AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED', undefined);
  const emitted = vi.spyOn(process, 'emitWarning');
  onTestFinished(() => emitted.mockRestore());
  open({});
  expect(emitted).not.toHaveBeenCalled();
  expect(process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED).toBe('true');
  expect(process.env.NODE_NO_WARNINGS).toBeUndefined();
});

test('a put goes through when the server is slow down twice, and sends the same bytes each time', async () => {
  const bodies: string[] = [];
  const endpoint = await listen(async (request, response) => {
    bodies.push((await read(request)).toString());
    if (bodies.length < 3) response.writeHead(503).end('<Error><Code>SlowDown</Code></Error>');
    else response.end();
  });
  await open({ endpoint }).put(KEY, BODY, PNG);
  expect(bodies).toEqual(['a picture', 'a picture', 'a picture']);
});

test('a server that fails for good is given up after the attempts allowed', async () => {
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

test('a server that takes the bytes and never answers is given up after the time allowed', async () => {
  const endpoint = await listen((request) => request.resume());
  const store = open({ endpoint, requestTimeoutMs: 100, maxAttempts: 2 });
  await expect(store.put(KEY, BODY, PNG)).rejects.toMatchObject({
    code: 'storage-failed',
    message: `Could not store ${KEY}: TimeoutError (ETIMEDOUT).`,
  });
});

test('an answer that stops in the middle rejects its reader', async () => {
  const endpoint = await listen((_, response) => {
    response.writeHead(200, FOUND).write('half');
  });
  const object = await open({ endpoint, requestTimeoutMs: 200 }).get(KEY);
  await expect(new Response(object?.body).text()).rejects.toMatchObject({ code: 'storage-failed' });
});

test('a body that is cancelled frees its socket', async () => {
  let closed: Promise<unknown> | undefined;
  const endpoint = await listen((_, response) => {
    response.writeHead(200, FOUND).write('half');
    closed = once(response, 'close');
  });
  await (await open({ endpoint }).get(KEY))?.body.cancel();
  await expect(closed).resolves.toBeDefined();
});

test('an object that Lehr did not store is a failure, not a guess', async () => {
  const endpoint = await listen((_, response) => response.end('anything'));
  await expect(open({ endpoint }).get(KEY)).rejects.toThrow('it was not stored by Lehr');
});

test('check gives up on a silent server long before the attempts run out', async () => {
  const endpoint = await listen((request) => request.resume());
  await expect(open({ endpoint, checkTimeoutMs: 100 }).check()).rejects.toMatchObject({
    code: 'storage-failed',
    message: 'The bucket lehr cannot take a write: no answer within 100 ms.',
  });
});

test('a server other than AWS is sent neither checksums nor chunks, and the body with its signed SHA-256', async () => {
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

test('links are signed for the public endpoint, for 15 minutes, and ask for no checksum', async () => {
  const store = open({ endpoint: 'http://minio:9000', publicEndpoint: 'https://files.example' });
  const link = new URL(await store.link(KEY));
  expect(link.origin + link.pathname).toBe(`https://files.example/lehr/${KEY}`);
  expect(link.searchParams.get('X-Amz-Expires')).toBe('900');
  expect([...link.searchParams.keys()].filter((name) => /checksum/i.test(name))).toEqual([]);
  expect(link.href).not.toContain(SECRET);
});

test('without an endpoint links lead to AWS, with the bucket in the host name', async () => {
  const link = new URL(await open({}).link(KEY));
  expect(link.host).toBe('lehr.s3.eu-central-1.amazonaws.com');
});
