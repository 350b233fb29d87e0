/** A number of slots; a task takes one and waits while there is none. First come, first served. */
export class Slots {
  #free: number;
  readonly #waiting = new Set<() => void>();

  constructor(count: number) {
    this.#free = count;
  }

  /** Runs the task in a slot. Rejects with the signal's reason when it aborts before there is one. */
  async run<Result>(task: () => Promise<Result>, signal: AbortSignal): Promise<Result> {
    signal.throwIfAborted();
    if (this.#free > 0) this.#free -= 1;
    else await this.#next(signal);
    try {
      return await task();
    } finally {
      const [next] = this.#waiting;
      if (next) next();
      else this.#free += 1;
    }
  }

  #next(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (conclude: () => void): void => {
        this.#waiting.delete(start);
        signal.removeEventListener('abort', abort);
        conclude();
      };
      const start = (): void => settle(resolve);
      const abort = (): void => settle(() => reject(signal.reason));
      this.#waiting.add(start);
      signal.addEventListener('abort', abort);
    });
  }
}
