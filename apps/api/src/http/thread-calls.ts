/** Gives tasks to one thread, which starts with the first of them and again after a failure. */
import { getPriority, setPriority } from 'node:os';
import { Worker } from 'node:worker_threads';

interface ThreadOptions {
  /** The thread's own JavaScript heap. */
  readonly heapMb: number;
  /** When the thread ends, the tasks that wait are rejected with it. */
  readonly exitError: () => Error;
  /** Arguments of Node for the thread. Default: those of this process. Tests run sources, and their threads the build. */
  readonly execArgv?: string[] | undefined;
}

interface Waiting<Answer> {
  resolve(answer: Answer): void;
  reject(error: Error): void;
}

/** `Answer` has the id of the task that it answers. */
export class ThreadCalls<Task extends object, Answer extends { readonly id: number }> {
  readonly #entry: URL;
  readonly #options: ThreadOptions;
  readonly #waiting = new Map<number, Waiting<Answer>>();
  #thread: Worker | undefined;
  #lastId = 0;

  constructor(entry: URL, options: ThreadOptions) {
    this.#entry = entry;
    this.#options = options;
  }

  /** Tasks without an answer. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** The thread gets the task with an `id`. The memory of `moved` moves to it; here it is empty afterwards. */
  call(task: Task, moved: readonly ArrayBuffer[]): Promise<Answer> {
    this.#lastId += 1;
    const id = this.#lastId;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#thread ??= this.#start();
      this.#thread.postMessage({ ...task, id }, moved);
    });
  }

  /** Stops the thread; tasks that wait are rejected. */
  async close(): Promise<void> {
    await this.#thread?.terminate();
  }

  #start(): Worker {
    const { heapMb, execArgv } = this.#options;
    const thread = new Worker(this.#entry, {
      resourceLimits: { maxOldGenerationSizeMb: heapMb },
      // Node refuses flags such as --expose-gc when they are given to a thread; those that a thread inherits it leaves out.
      ...(execArgv && { execArgv }),
    });
    // A thread without work does not keep the process alive.
    thread.unref();
    thread.on('message', (answer: Answer) => {
      this.#waiting.get(answer.id)?.resolve(answer);
      this.#waiting.delete(answer.id);
    });
    // An exit follows, which rejects the tasks that wait.
    thread.on('error', () => {});
    thread.once('exit', () => this.#onExit(thread));
    return thread;
  }

  #onExit(thread: Worker): void {
    if (this.#thread === thread) this.#thread = undefined;
    for (const { reject } of this.#waiting.values()) reject(this.#options.exitError());
    this.#waiting.clear();
  }
}

/** How much lower their priority is, in steps of nice(2). */
const NICER_BY = 10;
const NICEST = 19;

/** Called by a thread: it gets the time that requests leave. On Linux a priority belongs to a thread, elsewhere to the whole process. */
export function runsInSpareTime(): void {
  if (process.platform === 'linux') setPriority(Math.min(NICEST, getPriority() + NICER_BY));
}
