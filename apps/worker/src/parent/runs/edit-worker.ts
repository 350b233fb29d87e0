/** The thread of edits as the parent sees it: started by the first task, and again by the next one when it has died. */
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { LehrError, type PlainError } from '@lehr/shared';
import type { EditWork } from './edit-work.ts';

export interface EditTask {
  readonly id: number;
  readonly name: keyof EditWork;
  readonly args: readonly unknown[];
}

export type EditAnswer =
  | { readonly id: number; readonly value: { readonly data: Uint8Array } }
  | { readonly id: number; readonly failure: PlainError };

/** Compiled or not, as this file is. */
const ENTRY = new URL(`./edit-thread${extname(import.meta.url)}`, import.meta.url);
/** Pictures are outside of its heap. */
const HEAP_MB = 64;

type Settle = (answer: EditAnswer | Error) => void;

export class EditWorker implements EditWork {
  readonly #entry: URL;
  #worker: Worker | undefined;
  readonly #waiting = new Map<number, Settle>();
  #tasks = 0;

  /** `entry`: the module of the thread; tests give others. */
  constructor(entry = ENTRY) {
    this.#entry = entry;
  }

  readonly mask: EditWork['mask'] = (...args) => this.#perform('mask', args);
  readonly part: EditWork['part'] = (...args) => this.#perform('part', args);
  readonly paint: EditWork['paint'] = (...args) => this.#perform('paint', args);
  readonly paste: EditWork['paste'] = (...args) => this.#perform('paste', args);
  readonly noise: EditWork['noise'] = (...args) => this.#perform('noise', args);
  readonly canny: EditWork['canny'] = (...args) => this.#perform('canny', args);

  async close(): Promise<void> {
    await this.#worker?.terminate();
  }

  /** Rejects with the task's own error, and with LehrError `internal` when the thread dies. */
  #perform<Name extends keyof EditWork>(
    name: Name,
    args: Parameters<EditWork[Name]>,
  ): ReturnType<EditWork[Name]> {
    const id = ++this.#tasks;
    const done = new Promise((resolve, reject) => {
      this.#waiting.set(id, (answer) => {
        if (answer instanceof Error)
          reject(new LehrError('internal', 'The thread of edits died.', { cause: answer }));
        else if ('value' in answer) resolve(answer.value);
        else reject(new LehrError(answer.failure.code, answer.failure.message, answer.failure));
      });
    });
    this.#worker ??= this.#start();
    this.#worker.postMessage({ id, name, args } satisfies EditTask);
    return done as ReturnType<EditWork[Name]>;
  }

  #start(): Worker {
    const worker = new Worker(this.#entry, { resourceLimits: { maxOldGenerationSizeMb: HEAP_MB } });
    let cause = new Error('It ended.');
    worker.on('message', (answer: EditAnswer) => this.#settle(answer.id, answer));
    // An error is followed by an exit.
    worker.on('error', (error: Error) => {
      cause = error;
    });
    worker.on('exit', () => {
      this.#worker = undefined;
      for (const id of [...this.#waiting.keys()]) this.#settle(id, cause);
    });
    // The process ends without waiting for it.
    worker.unref();
    return worker;
  }

  #settle(id: number, answer: EditAnswer | Error): void {
    this.#waiting.get(id)?.(answer);
    this.#waiting.delete(id);
  }
}
