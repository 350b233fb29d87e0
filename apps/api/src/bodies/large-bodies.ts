/**
 * Parses bodies above a megabyte in a thread, so that none of them holds the event loop. One thread, one body at a time: large
 * bodies wait for each other and for nothing else. The thread starts with the first large body and again after a failure.
 */
import { Worker } from 'node:worker_threads';
import { type ErrorCode, LehrError } from '@lehr/shared';
import type { InlineAudio } from './inline-audio.ts';

export interface LargeBodyTask {
  readonly id: number;
  /** UTF-8. */
  readonly body: Uint8Array<ArrayBuffer>;
  readonly maxRestLength: number;
}

export type LargeBodyAnswer =
  | {
      readonly type: 'parsed';
      readonly id: number;
      /** JSON, with a reference in the place of each audio. */
      readonly text: string;
      readonly audio: readonly InlineAudio[];
    }
  | { readonly type: 'refused'; readonly id: number; readonly code: ErrorCode; readonly message: string };

export type ParsedBody = Pick<Extract<LargeBodyAnswer, { type: 'parsed' }>, 'text' | 'audio'>;

interface Waiting {
  resolve(body: ParsedBody): void;
  reject(error: LehrError): void;
}

/** Bodies that are parsed or wait for it; each is up to 15 MB of memory. */
const MAX_WAITING = 16;
/** The thread's own JavaScript heap: the text, its parsed form and the rest of one body. */
const HEAP_MB = 256;

export class LargeBodies {
  readonly #entry: URL;
  readonly #waiting = new Map<number, Waiting>();
  #thread: Worker | undefined;
  #lastId = 0;

  /** `entry` is large-body-thread.js. */
  constructor(entry: URL) {
    this.#entry = entry;
  }

  /**
   * The memory of `body` moves to the thread; here it is empty afterwards. Rejects with `invalid-request`, `too-large`, and
   * `overloaded` when too many large bodies wait.
   */
  parse(body: Uint8Array<ArrayBuffer>, maxRestLength: number): Promise<ParsedBody> {
    if (this.#waiting.size >= MAX_WAITING) {
      const busy = new LehrError('overloaded', 'Too many large bodies are being read.', { retryAfterS: 1 });
      return Promise.reject(busy);
    }
    this.#lastId += 1;
    const task: LargeBodyTask = { id: this.#lastId, body, maxRestLength };
    return new Promise((resolve, reject) => {
      this.#waiting.set(task.id, { resolve, reject });
      this.#thread ??= this.#start();
      this.#thread.postMessage(task, [body.buffer]);
    });
  }

  /** Stops the thread; bodies that wait are rejected. */
  async close(): Promise<void> {
    await this.#thread?.terminate();
  }

  #start(): Worker {
    const thread = new Worker(this.#entry, { resourceLimits: { maxOldGenerationSizeMb: HEAP_MB } });
    // A thread without work does not keep the process alive.
    thread.unref();
    thread.on('message', (answer: LargeBodyAnswer) => this.#onAnswer(answer));
    // An exit follows, which rejects the bodies that wait.
    thread.on('error', () => {});
    thread.once('exit', () => this.#onExit(thread));
    return thread;
  }

  #onAnswer(answer: LargeBodyAnswer): void {
    const waiting = this.#waiting.get(answer.id);
    this.#waiting.delete(answer.id);
    if (answer.type === 'parsed') waiting?.resolve(answer);
    else waiting?.reject(new LehrError(answer.code, answer.message));
  }

  #onExit(thread: Worker): void {
    if (this.#thread === thread) this.#thread = undefined;
    const error = new LehrError('unavailable', 'The body could not be read; send the request again.');
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}
