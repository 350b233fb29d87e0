import type { Clock } from '@lehr/shared';

/** Caches the result of `load` for `ttlMs`. Concurrent calls share one load; a failure is not cached. */
export class Recent<T> {
  readonly #load: () => Promise<T>;
  readonly #ttlMs: number;
  readonly #clock: Pick<Clock, 'monotonic'>;
  #value: Promise<T> | undefined;
  #loadedAt = 0;

  constructor(load: () => Promise<T>, ttlMs: number, clock: Pick<Clock, 'monotonic'>) {
    this.#load = load;
    this.#ttlMs = ttlMs;
    this.#clock = clock;
  }

  get(): Promise<T> {
    if (this.#value && this.#clock.monotonic() - this.#loadedAt < this.#ttlMs) return this.#value;
    const value = this.#load();
    this.#value = value;
    this.#loadedAt = this.#clock.monotonic();
    value.catch(() => {
      if (this.#value === value) this.#value = undefined;
    });
    return value;
  }
}
