/** A map with a limit: beyond it, the entry that was used longest ago is forgotten. */
export class RecentlyUsed<Key, Value> {
  readonly #entries = new Map<Key, Value>();
  readonly #max: number;
  readonly #isKept: (value: Value) => boolean;

  /** Entries with `isKept` stay beyond the limit, for example while they are in use. */
  constructor(max: number, isKept: (value: Value) => boolean = () => false) {
    this.#max = max;
    this.#isKept = isKept;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Counts as a use. */
  get(key: Key): Value | undefined {
    const value = this.#entries.get(key);
    if (value !== undefined) this.#moveToEnd(key, value);
    return value;
  }

  set(key: Key, value: Value): void {
    this.#moveToEnd(key, value);
    if (this.#entries.size <= this.#max) return;
    for (const [oldest, kept] of this.#entries) {
      if (oldest === key || this.#isKept(kept)) continue;
      this.#entries.delete(oldest);
      if (this.#entries.size <= this.#max) return;
    }
  }

  delete(key: Key): boolean {
    return this.#entries.delete(key);
  }

  /** The entry that was used longest ago first. */
  values(): IterableIterator<Value> {
    return this.#entries.values();
  }

  /** In the order of `values`. */
  entries(): IterableIterator<[Key, Value]> {
    return this.#entries.entries();
  }

  #moveToEnd(key: Key, value: Value): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
  }
}
