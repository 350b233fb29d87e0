/** A TCP proxy between a client and a server, which injects the faults of a network: silence, resets, another server. */

import type { AddressInfo } from 'node:net';
import { connect, createServer, type Socket } from 'node:net';
import { Transform } from 'node:stream';
import { onTestFinished } from 'vitest';

export interface TcpProxy {
  readonly port: number;
  /** Connections that are open at this moment, silent ones included. */
  readonly open: number;
  /** Connections so far. */
  readonly accepted: number;
  /** From now on the open connections carry no byte in either direction, and stay open. New connections work. */
  silence(): void;
  /** From now on new connections are silent too, until `restore`. */
  silenceAll(): void;
  restore(): void;
  /** From now on new connections are accepted, and their bytes wait for `release`. */
  hold(): void;
  release(): void;
  /** Closes all open connections with a reset. */
  reset(): void;
  /** The server sees the open connections end; the client sees nothing. */
  halfOpen(): void;
  /** From now on every byte of new connections arrives this much later, in both directions. */
  delay(ms: number): void;
  /** New connections lead to this port. */
  retarget(port: number): void;
}

export async function tcpProxy(targetPort: number): Promise<TcpProxy> {
  const pairs = new Set<{ readonly client: Socket; readonly server: Socket }>();
  let target = targetPort;
  let isSilent = false;
  let isHeld = false;
  let held: (() => void)[] = [];
  let accepted = 0;
  let delayMs = 0;
  const listener = createServer((client) => {
    accepted += 1;
    const pair = { client, server: connect(target, '127.0.0.1') };
    pairs.add(pair);
    const end = (): void => {
      pairs.delete(pair);
      client.destroy();
      pair.server.destroy();
    };
    for (const socket of [client, pair.server]) socket.on('error', end).on('close', end).setNoDelay(true);
    const begin = (): void => {
      forward(client, pair.server, delayMs);
      forward(pair.server, client, delayMs);
    };
    if (isSilent) mute(pair);
    else if (isHeld) held.push(begin);
    else begin();
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const reset = (): void => {
    for (const { client } of pairs) client.resetAndDestroy();
  };
  onTestFinished(() => {
    reset();
    listener.close();
  });
  const silence = (): void => {
    for (const pair of pairs) mute(pair);
  };
  return {
    port: (listener.address() as AddressInfo).port,
    get open() {
      return pairs.size;
    },
    get accepted() {
      return accepted;
    },
    silence,
    silenceAll: () => {
      isSilent = true;
      silence();
    },
    restore: () => {
      isSilent = false;
    },
    hold: () => {
      isHeld = true;
    },
    release: () => {
      isHeld = false;
      for (const begin of held) begin();
      held = [];
    },
    reset,
    halfOpen: () => {
      for (const pair of pairs) {
        mute(pair);
        pair.server.removeAllListeners('close').destroy();
      }
    },
    delay: (ms) => {
      delayMs = ms;
    },
    retarget: (port) => {
      target = port;
    },
  };
}

/** Reads nothing more, so that the peer sees neither an answer nor an end. */
function mute({ client, server }: { readonly client: Socket; readonly server: Socket }): void {
  client.unpipe().pause();
  server.unpipe().pause();
}

function forward(from: Socket, to: Socket, delayMs: number): void {
  if (delayMs === 0) {
    from.pipe(to);
    return;
  }
  const late = new Transform({
    transform: (chunk, _, done) => void setTimeout(done, delayMs, null, chunk),
  });
  from.pipe(late).pipe(to);
}
