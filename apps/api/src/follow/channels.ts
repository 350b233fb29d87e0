/**
 * Redis channels over one connection: SUBSCRIBE only while somebody listens, counted per channel.
 *
 * A message may be lost (a reconnect, a failover), so whoever listens also looks for himself from time to time.
 */
import type { Redis } from '@lehr/shared/redis';

interface Channel {
  readonly listeners: Set<() => void>;
  /** Redis has confirmed the subscription. */
  live: boolean;
}

export class Channels {
  readonly #redis: Redis;
  readonly #channels = new Map<string, Channel>();

  /** `subscriber` is a connection of that role and serves nothing else. */
  constructor(subscriber: Redis) {
    this.#redis = subscriber;
    subscriber.on('message', (name: string) => this.#tell(name));
  }

  /** Channels somebody listens to. */
  get size(): number {
    return this.#channels.size;
  }

  /**
   * Calls `onChange` for every message, and once as soon as none can be missed any more: what was read before that may
   * be out of date. Returns what ends it.
   */
  listen(name: string, onChange: () => void): () => void {
    let channel = this.#channels.get(name);
    if (!channel) {
      channel = { listeners: new Set(), live: false };
      this.#channels.set(name, channel);
      this.#subscribe(name, channel);
    } else if (channel.live) {
      queueMicrotask(onChange);
    }
    const { listeners } = channel;
    listeners.add(onChange);
    return () => {
      if (!listeners.delete(onChange) || listeners.size > 0) return;
      this.#channels.delete(name);
      // Sent in order with a later SUBSCRIBE on the same connection, so the two cannot overtake each other.
      this.#redis.unsubscribe(name).catch(() => {});
    };
  }

  #subscribe(name: string, channel: Channel): void {
    this.#redis.subscribe(name).then(
      () => {
        channel.live = true;
        if (this.#channels.get(name) === channel) this.#tell(name);
      },
      () => {},
    );
  }

  #tell(name: string): void {
    for (const listener of this.#channels.get(name)?.listeners ?? []) listener();
  }
}
