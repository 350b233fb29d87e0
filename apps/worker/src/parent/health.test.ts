import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { serveHealth } from './health.ts';

async function probe(unreadyReason: () => Promise<string | undefined>): Promise<[number, string]> {
  const metrics = async () => ({ contentType: 'text/plain', text: '' });
  const server = await serveHealth(0, '127.0.0.1', { unreadyReason, metrics });
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const response = await fetch(`http://127.0.0.1:${port}/readyz`);
  return [response.status, await response.text()];
}

test('/readyz of a worker says why the worker is not ready', async () => {
  expect(await probe(async () => undefined)).toEqual([200, 'ready\n']);
  expect(await probe(async () => 'ffmpeg is missing')).toEqual([503, 'ffmpeg is missing\n']);
  const failing = probe(() => Promise.reject(new Error('a secret')));
  expect(await failing).toEqual([500, 'readiness could not be checked\n']);
});
