import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { oneAtATime } from './pipeline.ts';

const WAIT = { timeout: 30_000 };

/** A server whose requests the test answers, and a connection to it. */
async function pipeline() {
  const begun = new Map<string, ServerResponse>();
  const server = createServer(oneAtATime((request, response) => begun.set(String(request.url), response)));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const socket: Socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  let received = '';
  socket
    .on('error', () => {})
    .on('data', (bytes) => {
      received += bytes;
    });
  return {
    socket,
    begun,
    received: () => received,
    send: (...paths: string[]) =>
      socket.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nhost: lehr\r\n\r\n`).join('')),
    hasBegun: (path: string) => vi.waitFor(() => expect([...begun.keys()]).toContain(path), WAIT),
  };
}

test('Each request of a packet begins when the one before is answered', async () => {
  const { send, begun, hasBegun, received } = await pipeline();
  send('/1', '/2', '/3');
  for (const path of ['/1', '/2', '/3']) {
    await hasBegun(path);
    expect([...begun.keys()].at(-1)).toBe(path);
    begun.get(path)?.end(`answer to ${path}.`);
  }
  await vi.waitFor(() => expect(received()).toContain('answer to /3.'), WAIT);
  expect(received().match(/answer to \/\d/g)).toEqual(['answer to /1', 'answer to /2', 'answer to /3']);
});

test('A request that comes after an answer begins at once', async () => {
  const { send, begun, hasBegun, received } = await pipeline();
  send('/1');
  await hasBegun('/1');
  begun.get('/1')?.end('first');
  await vi.waitFor(() => expect(received()).toContain('first'), WAIT);
  send('/2');
  await hasBegun('/2');
});

test('Requests that have not begun when their connection ends never begin', async () => {
  const { socket, send, begun, hasBegun } = await pipeline();
  send('/1', '/2');
  await hasBegun('/1');
  const response = begun.get('/1');
  const closed = new Promise((resolve) => response?.once('close', resolve));
  socket.destroy();
  await closed;
  response?.end('too late');
  await new Promise((resolve) => setImmediate(resolve));
  expect([...begun.keys()]).toEqual(['/1']);
});

test('A connection with more than sixteen unanswered requests is closed', async () => {
  const { socket, send, begun } = await pipeline();
  const closed = new Promise((resolve) => socket.once('close', resolve));
  send(...Array.from({ length: 17 }, (_, i) => `/${i}`));
  await closed;
  expect(begun.size).toBe(1);
});
