import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createEgress, parseAllowList } from '@lehr/shared/egress';
import type { ObjectStore } from '@lehr/shared/objects';
import { expect, onTestFinished, test } from 'vitest';
import { mediaSource } from './media-source.ts';

test('A fetch that is slower than the least pace after its grace is ended, and says how much arrived', async () => {
  const server = createServer((_, response) => {
    const drip = setInterval(() => response.write('x'), 20);
    response.once('close', () => clearInterval(drip));
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const closed = new Promise((resolve) =>
    server.once('connection', (socket) => socket.once('close', resolve)),
  );
  const egress = createEgress({ allow: parseAllowList('*') });
  const maxBytes = { audio: 1e6, picture: 1e6 };
  const fetchMedia = mediaSource({ store: {} as ObjectStore, egress, maxBytes, graceMs: 100 });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/a.png`;
  const fetched = fetchMedia('picture', { kind: 'url', url }, new AbortController().signal);
  await expect(fetched).rejects.toMatchObject({
    code: 'invalid-input',
    message: expect.stringMatching(/its URL sent \d+ bytes in \d+ seconds; at least 16384 bytes a second/),
  });
  await closed;
}, 30_000);

test('The connection to a URL that answers without audio is closed, however long its answer is', async () => {
  const server = createServer((_, response) => {
    response.writeHead(404);
    response.write('not found, and the answer goes on');
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const closed = new Promise((resolve) =>
    server.once('connection', (socket) => socket.once('close', resolve)),
  );
  const store = {} as ObjectStore;
  const maxBytes = { audio: 1000, picture: 1000 };
  const fetchMedia = mediaSource({ store, egress: createEgress({ allow: parseAllowList('*') }), maxBytes });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/a.wav`;
  await expect(fetchMedia('audio', { kind: 'url', url }, new AbortController().signal)).rejects.toMatchObject(
    {
      code: 'invalid-input',
      message: expect.stringContaining('404'),
    },
  );
  await closed;
}, 10_000);
