/**
 * Redis channels over one connection: a channel is subscribed to while it has listeners, or for good when it is opened.
 *
 * Messages can be lost (a reconnect, a failover), so every listener also polls from time to time.
 */
import type { Redis } from '@lehr/shared/redis';

interface Channel {
  readonly listeners: Set<() => void>;
  /** Redis has confirmed the subscription. */
  isSubscribed: boolean;
}

export class Channels {
  readonly #redis: Redis;
  readonly #channels = new Map<string, Channel>();
  readonly #open = new Map<string, (message: string) => void>();

  /** `subscriber` is a connection of that role, used for nothing else. */
  constructor(subscriber: Redis) {
    this.#redis = subscriber;
    subscriber.on('message', (name: string, message: string) => {
      const onMessage = this.#open.get(name);
      if (onMessage) onMessage(message);
      else this.#notify(name);
    });
  }

  /** Subscribes for as long as the connection exists. Resolves with whether Redis has confirmed it; when it has not, nothing is open. */
  async open(name: string, onMessage: (message: string) => void): Promise<boolean> {
    this.#open.set(name, onMessage);
    try {
      await this.#redis.subscribe(name);
      return true;
    } catch {
      this.#open.delete(name);
      return false;
    }
  }

  /** Channels with listeners. */
  get size(): number {
    return this.#channels.size;
  }

  /**
   * Calls `onChange` for every message, and once when the subscription is confirmed: a value read before that may be stale.
   * Returns a function that removes the listener.
   */
  listen(name: string, onChange: () => void): () => void {
    let channel = this.#channels.get(name);
    if (!channel) {
      channel = { listeners: new Set(), isSubscribed: false };
      this.#channels.set(name, channel);
      this.#subscribe(name, channel);
    } else if (channel.isSubscribed) {
      queueMicrotask(onChange);
    }
    const { listeners } = channel;
    listeners.add(onChange);
    return () => {
      if (!listeners.delete(onChange) || listeners.size > 0) return;
      this.#channels.delete(name);
      // A later SUBSCRIBE goes over the same connection, so the order of the two is kept.
      this.#redis.unsubscribe(name).catch(() => {});
    };
  }

  #subscribe(name: string, channel: Channel): void {
    this.#redis.subscribe(name).then(
      () => {
        channel.isSubscribed = true;
        if (this.#channels.get(name) === channel) this.#notify(name);
      },
      () => {},
    );
  }

  #notify(name: string): void {
    for (const listener of this.#channels.get(name)?.listeners ?? []) listener();
  }
}
