/**
 * What callers may make a listener hold and do: how many connections in all and of one caller, and how much of one connection.
 */
import { readFileSync } from 'node:fs';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

interface Held {
  /** Whose it is: a tenant, or an address until a request of it was accepted. Undefined for a proxy, which serves many callers. */
  owner: string | undefined;
  /** Requests under way. */
  requests: number;
}

/**
 * Which connections a listener holds when more callers want one than there may be. While there is room, a caller takes as many as it
 * wants. When there is none, a caller that holds more than half of all loses one for each new connection of another caller:
 * an idle one first. Otherwise the new connection is refused.
 */
export class ConnectionShares<Connection extends { destroy(): unknown }> {
  readonly #max: number;
  readonly #held = new Map<Connection, Held>();
  readonly #byOwner = new Map<string, Set<Connection>>();
  /** The only owner that can have more than half. */
  #largest: string | undefined;

  constructor(max: number) {
    this.#max = max;
  }

  /** False when the new connection must be closed. May close a connection of another owner. */
  open(connection: Connection, owner: string | undefined): boolean {
    if (this.#held.size >= this.#max) {
      const largest = this.#aboveHalf();
      if (largest === undefined || largest === owner) return false;
      const victim = this.#victim(largest);
      if (victim === undefined) return false;
      this.close(victim);
      victim.destroy();
    }
    this.#held.set(connection, { owner: undefined, requests: 0 });
    this.#own(connection, owner);
    return true;
  }

  /** A request has arrived, by which the owner is known better. */
  begin(connection: Connection, owner: string | undefined): void {
    const held = this.#held.get(connection);
    if (!held) return;
    held.requests += 1;
    this.#own(connection, owner);
  }

  /** A request is over. */
  end(connection: Connection): void {
    const held = this.#held.get(connection);
    if (held) held.requests -= 1;
  }

  close(connection: Connection): void {
    this.#own(connection, undefined);
    this.#held.delete(connection);
  }

  #own(connection: Connection, owner: string | undefined): void {
    const held = this.#held.get(connection);
    if (!held || held.owner === owner) return;
    const before = held.owner === undefined ? undefined : this.#byOwner.get(held.owner);
    before?.delete(connection);
    if (before?.size === 0) this.#byOwner.delete(held.owner as string);
    held.owner = owner;
    if (owner === undefined) return;
    const owned = this.#byOwner.get(owner) ?? new Set();
    this.#byOwner.set(owner, owned.add(connection));
    if (owned.size > this.#max / 2) this.#largest = owner;
  }

  #aboveHalf(): string | undefined {
    const owned = this.#largest === undefined ? 0 : (this.#byOwner.get(this.#largest)?.size ?? 0);
    return owned > this.#max / 2 ? this.#largest : undefined;
  }

  /** An idle connection, the oldest one first, or else the newest one. */
  #victim(owner: string): Connection | undefined {
    let newest: Connection | undefined;
    for (const connection of this.#byOwner.get(owner) ?? []) {
      if (this.#held.get(connection)?.requests === 0) return connection;
      newest = connection;
    }
    return newest;
  }
}

/** A connection with more unanswered requests is closed. Common clients send one at a time. */
const MAX_UNANSWERED = 16;

/** The requests of a connection that have not begun, while another one of it is answered. */
const FOLLOWING = Symbol('following');
type Taken = Socket & { [FOLLOWING]?: (() => void)[] | undefined };

/**
 * Begins the requests of a connection one after the other: each when the answer to the one before is sent. Node begins all requests of
 * one packet at once (HTTP pipelining), so a caller could make the event loop begin hundreds of them in one turn. Answers have the
 * order of their requests in any case, so nothing is answered later for it but by the work of the requests before.
 */
export function oneAtATime(listener: RequestListener): RequestListener {
  return (request, response) => {
    const socket: Taken = request.socket;
    // The rest of a packet whose connection was closed here.
    if (socket.destroyed) return;
    const begin = (): void => {
      response.on('close', () => beginNext(socket));
      listener(request, response);
    };
    const following = socket[FOLLOWING];
    if (!following) {
      socket[FOLLOWING] = [];
      begin();
    } else if (following.length + 1 < MAX_UNANSWERED) {
      following.push(begin);
    } else {
      socket.destroy();
    }
  };

  function beginNext(socket: Taken): void {
    const next = socket.destroyed ? undefined : socket[FOLLOWING]?.shift();
    if (next) next();
    else socket[FOLLOWING] = undefined;
  }
}

const MAX_REST_BYTES = 256 * 1024;
const MAX_REST_MS = 100;
/** A socket that is closed while its caller sends is reset, and the caller may lose the answer. So a little more is read first. */
const LINGER_BYTES = 8 * 1024 * 1024;
const LINGER_MS = 500;

/**
 * Ends requests that are answered before their body is read, as most refusals are. A short rest is read, so that the connection
 * stays open for the next request. With a longer one the connection closes after the answer: a caller without a key could
 * otherwise make the server read without end.
 * Call it before the answer is sent, when the body is not complete.
 */
export async function finishBody(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  if (incoming.destroyed) return;
  const isShort = Number(incoming.headers['content-length'] ?? 0) <= MAX_REST_BYTES;
  if (isShort && (await hasShortRest(incoming))) return;
  // Node sends "Connection: close", and calls destroySoon() when the answer is written.
  outgoing.shouldKeepAlive = false;
  let isLingering = false;
  incoming.socket.destroySoon = () => {
    if (!isLingering) linger(incoming);
    isLingering = true;
  };
}

/** Ends the answer, and closes the socket when the body is complete or the caller has had time to see the answer. */
function linger(incoming: IncomingMessage): void {
  const { socket } = incoming;
  let bytes = 0;
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(timer)).end();
  incoming.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > LINGER_BYTES) socket.destroy();
  });
  incoming.once('end', () => socket.destroy()).resume();
}

/** Reads the rest. False when it is too long, comes too slowly or breaks off. */
function hasShortRest(incoming: IncomingMessage): Promise<boolean> {
  return new Promise((resolve) => {
    let bytes = 0;
    const end = (isRead: boolean): void => {
      clearTimeout(timer);
      incoming.off('data', count).off('end', complete).off('close', broken).pause();
      resolve(isRead);
    };
    const count = (chunk: Buffer): void => {
      bytes += chunk.length;
      if (bytes > MAX_REST_BYTES) end(false);
    };
    const complete = (): void => end(true);
    const broken = (): void => end(false);
    const timer = setTimeout(broken, MAX_REST_MS);
    // A caller that hangs up emits an error and then `close`.
    incoming.on('error', () => {});
    incoming.on('data', count).on('end', complete).on('close', broken).resume();
  });
}

/** Descriptors for Redis, files, webhook deliveries and the operations listener. */
const RESERVED = 1000;

/**
 * How many connections an API process takes, below its limit of file descriptors:
 * `wanted`, or less when the process may open too few files for it.
 */
export function connectionLimit(wanted: number, descriptors = descriptorLimit()): number {
  return Math.max(1, Math.min(wanted, descriptors - Math.min(RESERVED, Math.floor(descriptors / 2))));
}

/** Infinity where the system does not tell it: Linux has this file. */
function descriptorLimit(): number {
  try {
    const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
