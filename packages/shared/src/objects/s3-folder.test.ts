import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { openS3Folder } from './s3-folder.ts';

beforeEach(() => {
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'the-access-key-id');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'the-secret-access-key');
  return () => vi.unstubAllEnvs();
});

async function folderOf(answer: RequestListener) {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return openS3Folder({ bucket: 'b', prefix: 'p/', region: 'us-east-1', endpoint, requestTimeoutMs: 100 });
}

const { signal } = new AbortController();

test('A server that never answers is reported instead of waited for', { timeout: 60_000 }, async () => {
  const folder = await folderOf(() => {});
  await expect(folder.list(signal)).rejects.toMatchObject({
    code: 'unavailable',
    message: expect.stringContaining('s3://b/p/ cannot be read: TimeoutError'),
  });
  await expect(folder.read('x', 0, signal)).rejects.toMatchObject({ code: 'unavailable' });
});

test('A server that stops in the middle of an object is reported', { timeout: 60_000 }, async () => {
  const folder = await folderOf((_, response) => {
    response.writeHead(200, { 'content-length': 10 });
    response.write('12345');
  });
  await expect(folder.text('x', signal)).rejects.toMatchObject({ code: 'unavailable' });
});
