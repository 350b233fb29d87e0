import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { ConnectionShares, connectionLimit, oneAtATime } from './connections.ts';

class Connection {
  isDestroyed = false;
  destroy(): this {
    this.isDestroyed = true;
    return this;
  }
}

function shares(max: number) {
  const all = new ConnectionShares<Connection>(max);
  const open = (owner: string | undefined, isBusy = false) => {
    const connection = new Connection();
    const isOpen = all.open(connection, owner);
    if (isOpen && isBusy) all.begin(connection, owner);
    return { connection, isOpen };
  };
  return { all, open };
}

test('While there is room, a caller takes all connections, and none beyond them', () => {
  const { open } = shares(4);
  expect(Array.from({ length: 5 }, () => open('a').isOpen)).toEqual([true, true, true, true, false]);
});

test('A caller with more than half of the connections loses idle ones to others, and keeps half', () => {
  const { open } = shares(4);
  const held = [true, false, true, false].map((isBusy) => open('a', isBusy));
  expect([open('b').isOpen, open('c').isOpen]).toEqual([true, true]);
  expect(held.map(({ connection }) => connection.isDestroyed)).toEqual([false, true, false, true]);
  expect(open('d').isOpen).toBe(false);
});

test('When all connections of that caller are busy, the newest one is closed', () => {
  const { open } = shares(3);
  const held = Array.from({ length: 3 }, () => open('a', true));
  expect(open('b').isOpen).toBe(true);
  expect(held.map(({ connection }) => connection.isDestroyed)).toEqual([false, false, true]);
});

test('A connection belongs to the tenant of its last request, and connections of a proxy to no caller', () => {
  const { all, open } = shares(4);
  const held = Array.from({ length: 3 }, () => open('address'));
  open(undefined);
  for (const { connection } of held) {
    all.begin(connection, 'tenant');
    all.end(connection);
  }
  expect(open('tenant').isOpen).toBe(false);
  expect(open('address').isOpen).toBe(true);
  const proxied = shares(2);
  for (let i = 0; i < 2; i++) proxied.open(undefined);
  expect(proxied.open('a').isOpen).toBe(false);
});

test('A connection that was closed makes room', () => {
  const { all, open } = shares(1);
  const { connection } = open('a');
  all.close(connection);
  expect(open('b').isOpen).toBe(true);
});

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

test.each([
  [10_000, 1_048_576, 10_000],
  [10_000, 10_240, 9240],
  [10_000, 1024, 512],
  [50, 1024, 50],
  [10_000, 1, 1],
])('Of %d wanted connections, a process that may open %d files takes %d', (wanted, descriptors, taken) => {
  expect(connectionLimit(wanted, descriptors)).toBe(taken);
});

test('Where the system does not tell the limit of files, all wanted connections are taken', () => {
  expect(connectionLimit(10_000, Number.POSITIVE_INFINITY)).toBe(10_000);
});
