import { expect, test } from 'vitest';
import { ConnectionShares } from './connection-shares.ts';

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
