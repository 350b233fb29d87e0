import type { Clock } from '@lehr/shared';

/**
 * Caches the result of `load` for `ttlMs`. Concurrent calls share one load; a failure is not cached. For `staleMs` more, calls get
 * the older result while the next load is under way.
 */
export class Recent<T> {
  readonly #load: () => Promise<T>;
  readonly #ttlMs: number;
  readonly #staleMs: number;
  readonly #clock: Pick<Clock, 'monotonic'>;
  #value: Promise<T> | undefined;
  #loadedAt = 0;
  /** A load under way that no call waits for. */
  #refresh: Promise<void> | undefined;

  constructor(load: () => Promise<T>, ttlMs: number, clock: Pick<Clock, 'monotonic'>, staleMs = 0) {
    this.#load = load;
    this.#ttlMs = ttlMs;
    this.#clock = clock;
    this.#staleMs = staleMs;
  }

  get(): Promise<T> {
    const ageMs = this.#clock.monotonic() - this.#loadedAt;
    if (this.#value && ageMs < this.#ttlMs) return this.#value;
    if (this.#value && ageMs < this.#ttlMs + this.#staleMs) {
      this.#refresh ??= this.#loadBehind().finally(() => {
        this.#refresh = undefined;
      });
      return this.#value;
    }
    const value = this.#load();
    this.#value = value;
    this.#loadedAt = this.#clock.monotonic();
    value.catch(() => {
      if (this.#value === value) this.#value = undefined;
    });
    return value;
  }

  /** Never rejects: after a failure the older result serves until it is too old, and the next load reports why. */
  async #loadBehind(): Promise<void> {
    const startedAt = this.#clock.monotonic();
    const replaced = this.#value;
    try {
      const value = await this.#load();
      if (this.#value !== replaced) return;
      this.#value = Promise.resolve(value);
      this.#loadedAt = startedAt;
    } catch {
      // The next call tries again.
    }
  }
}
