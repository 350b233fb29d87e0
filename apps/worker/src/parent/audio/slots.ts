import { Holdings, type PriorityClass, urgencyOf } from '@lehr/shared';

/** Who a task is for, and how much it takes of a limited supply. */
export interface SlotRequest {
  /** Its tasks are of one class. */
  readonly owner: string;
  readonly size: number;
  /** Absent: the most urgent one. */
  readonly priority?: PriorityClass;
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

/** The tasks of an owner that wait. */
type Line = [owner: string, tasks: Set<Waiting>];

const urgency = ({ priority = 'interactive' }: SlotRequest): number => urgencyOf(priority);

/**
 * A number of slots; a task takes one and waits while there is none, or while the supply does not suffice. Of several slots, bulk tasks
 * leave one free. A slot goes to the most urgent class, and within it owners take turns: it goes to the owner with the fewest running
 * tasks, and among those to the one that has waited longest for its turn. So the task of one owner waits for one running task of
 * another owner, however many more that one has in line.
 */
export class Slots {
  readonly #supply: Supply;
  readonly #count: number;
  #free: number;
  readonly #running = new Holdings();
  /** The waiting tasks of each owner, first come, first served. Owners in the order of their turns. */
  readonly #waiting = new Map<string, Set<Waiting>>();
  readonly #aborts = new AbortWatch();

  constructor(count: number, supply: Supply = UNLIMITED) {
    this.#count = count;
    this.#free = count;
    this.#supply = supply;
  }

  /** Whether a task that comes before those of less urgent classes than this waits for a slot, and not only for the supply. */
  isFull(priority: PriorityClass = 'interactive'): boolean {
    const isAhead = (request: SlotRequest): boolean => urgency(request) <= urgencyOf(priority);
    return (
      !this.#hasSlot(priority) &&
      [...this.#waiting.values()].some(([{ request }]) => isAhead(request) && this.#supply.fits(request))
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

  #hasSlot(priority?: PriorityClass): boolean {
    return this.#free > (priority === 'bulk' && this.#count > 1 ? 1 : 0);
  }

  #release(owner: string): void {
    this.#free += 1;
    // Chosen while the task that ends still counts: the turn of its owner is over.
    this.look();
    this.#running.add(owner, -1);
  }

  #startNext(): boolean {
    let next: Line | undefined;
    for (const entry of this.#waiting) {
      const [, [{ request }]] = entry;
      if (next && this.#order(entry, next) >= 0) continue;
      if (this.#hasSlot(request.priority) && this.#supply.fits(request)) next = entry;
    }
    if (!next) return false;
    const [owner, tasks] = next;
    // The owner's next turn comes after those of all others.
    this.#waiting.delete(owner);
    this.#waiting.set(owner, tasks);
    const [{ request, start }] = tasks;
    this.#free -= 1;
    this.#running.add(owner, 1);
    this.#supply.take(request);
    start();
    return true;
  }

  #order([a, [{ request }]]: Line, [b, [other]]: Line): number {
    return urgency(request) - urgency(other.request) || this.#running.of(a) - this.#running.of(b);
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

/** An owner that holds this part of the memory gets no more, so that its long files leave room for those of others. */
const OWNER_SHARE = 1 / 2;
/** A class leaves this part of the memory free for each more urgent one. */
const CLASS_SHARE = 1 / 4;

/**
 * The memory for one kind of media of a worker, such as waveforms. The most that a file can take is reserved before it is decoded, and given
 * back when it is known to take less, and when it is not used any more.
 */
export class MemorySupply implements Supply {
  readonly #bytes: number;
  readonly #held = new Holdings();

  constructor(bytes: number) {
    this.#bytes = bytes;
  }

  /** Reserved or in use. */
  get usedBytes(): number {
    return this.#held.total;
  }

  /** A waveform that is too large for the limit fits when there is no other. */
  fits({ owner, size, priority }: SlotRequest): boolean {
    const held = this.#held.of(owner);
    return this.hasRoom(size, priority) && (held === 0 || held < this.#bytes * OWNER_SHARE);
  }

  /** Whether so many bytes are left for some owner. */
  hasRoom(size: number, priority: PriorityClass = 'interactive'): boolean {
    const used = this.usedBytes;
    return used === 0 || used + size <= this.#bytes * (1 - urgencyOf(priority) * CLASS_SHARE);
  }

  take({ owner, size }: SlotRequest): void {
    this.#held.add(owner, size);
  }

  /** Gives back a part of what was taken. */
  give({ owner, size }: SlotRequest): void {
    this.take({ owner, size: -size });
  }
}
