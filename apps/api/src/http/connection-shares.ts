/**
 * Which connections a listener holds when more callers want one than there may be. While there is room, a caller takes as many as it
 * wants. When there is none, a caller that holds more than half of all loses one for each new connection of another caller:
 * an idle one first. Otherwise the new connection is refused.
 */

interface Held {
  /** Whose it is: a tenant, or an address until a request of it was accepted. Undefined for a proxy, which serves many callers. */
  owner: string | undefined;
  /** Requests under way. */
  requests: number;
}

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
