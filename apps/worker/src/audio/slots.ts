/** Who a task is for, and how much it takes of a limited supply. */
export interface SlotRequest {
  readonly owner: string;
  readonly size: number;
}

/** What tasks take from when they start. It may grow at any time; then `Slots.look` must be called. */
export interface Supply {
  fits(request: SlotRequest): boolean;
  take(request: SlotRequest): void;
}

const UNLIMITED: Supply = { fits: () => true, take: () => {} };
const NO_OWNER: SlotRequest = { owner: '', size: 0 };

interface Waiting {
  readonly request: SlotRequest;
  readonly start: () => void;
}

/**
 * A number of slots; a task takes one and waits while there is none, or while the supply does not suffice. Owners take turns: a free
 * slot goes to the owner with the fewest running tasks, and among those to the one that has waited longest for its turn. So the task
 * of one owner waits for one running task of another owner, however many more that one has in line.
 */
export class Slots {
  readonly #supply: Supply;
  #free: number;
  readonly #running = new Map<string, number>();
  /** The waiting tasks of each owner, first come, first served. Owners in the order of their turns. */
  readonly #waiting = new Map<string, Set<Waiting>>();
  readonly #aborts = new AbortWatch();

  constructor(count: number, supply: Supply = UNLIMITED) {
    this.#free = count;
    this.#supply = supply;
  }

  /** Whether a task waits for a slot, and not only for the supply. */
  get isFull(): boolean {
    return (
      this.#free === 0 && [...this.#waiting.values()].some(([{ request }]) => this.#supply.fits(request))
    );
  }

  /** Runs the task in a slot. Rejects with the signal's reason when it aborts before there is one. */
  async run<Result>(
    task: () => Promise<Result>,
    signal: AbortSignal,
    request: SlotRequest = NO_OWNER,
  ): Promise<Result> {
    signal.throwIfAborted();
    const started = this.#next(signal, request);
    this.look();
    await started;
    try {
      return await task();
    } finally {
      this.#release(request.owner);
    }
  }

  /** Starts what can start. */
  look(): void {
    while (this.#free > 0 && this.#startNext());
  }

  #release(owner: string): void {
    this.#free += 1;
    // Chosen while the task that ends still counts: the turn of its owner is over.
    this.look();
    const left = this.#runningOf(owner) - 1;
    if (left > 0) this.#running.set(owner, left);
    else this.#running.delete(owner);
  }

  #startNext(): boolean {
    let next: [string, Set<Waiting>] | undefined;
    for (const entry of this.#waiting) {
      const [owner, [first]] = entry;
      if (next && this.#runningOf(owner) >= this.#runningOf(next[0])) continue;
      if (this.#supply.fits(first.request)) next = entry;
    }
    if (!next) return false;
    const [owner, tasks] = next;
    // The owner's next turn comes after those of all others.
    this.#waiting.delete(owner);
    this.#waiting.set(owner, tasks);
    const [{ request, start }] = tasks;
    this.#free -= 1;
    this.#running.set(owner, this.#runningOf(owner) + 1);
    this.#supply.take(request);
    start();
    return true;
  }

  #runningOf(owner: string): number {
    return this.#running.get(owner) ?? 0;
  }

  #next(signal: AbortSignal, request: SlotRequest): Promise<void> {
    const { owner } = request;
    return new Promise((resolve, reject) => {
      const tasks = this.#waiting.get(owner) ?? new Set();
      const settle = (conclude: () => void): void => {
        tasks.delete(task);
        if (tasks.size === 0) this.#waiting.delete(owner);
        this.#aborts.delete(signal, abort);
        conclude();
      };
      const task: Waiting = { request, start: () => settle(resolve) };
      const abort = (): void => settle(() => reject(signal.reason));
      tasks.add(task);
      this.#waiting.set(owner, tasks);
      this.#aborts.add(signal, abort);
    });
  }
}

/** Calls functions when a signal aborts. A signal has one listener, however many tasks wait for it: of more than ten, Node warns as of a leak. */
class AbortWatch {
  readonly #calls = new Map<AbortSignal, Set<() => void>>();

  add(signal: AbortSignal, call: () => void): void {
    const calls = this.#calls.get(signal);
    if (calls) {
      calls.add(call);
      return;
    }
    this.#calls.set(signal, new Set([call]));
    signal.addEventListener('abort', this.#onAbort);
  }

  delete(signal: AbortSignal, call: () => void): void {
    const calls = this.#calls.get(signal);
    calls?.delete(call);
    if (calls?.size !== 0) return;
    this.#calls.delete(signal);
    signal.removeEventListener('abort', this.#onAbort);
  }

  readonly #onAbort = ({ target }: Event): void => {
    for (const call of [...(this.#calls.get(target as AbortSignal) ?? [])]) call();
  };
}
