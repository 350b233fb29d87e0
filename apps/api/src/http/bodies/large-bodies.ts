/**
 * Parses bodies above a megabyte in a thread, so that none of them holds the event loop. One thread, one body at a time: large
 * bodies wait for each other and for nothing else. The thread starts with the first large body and again after a failure.
 */
import { type ErrorCode, LehrError } from '@lehr/shared';
import { ThreadCalls } from '../thread-calls.ts';
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

/** Bodies that are parsed or wait for it; each is up to 15 MB of memory. */
const MAX_WAITING = 16;
/** The thread's own JavaScript heap: the text, its parsed form and the rest of one body. */
const HEAP_MB = 256;

export class LargeBodies {
  readonly #thread: ThreadCalls<Omit<LargeBodyTask, 'id'>, LargeBodyAnswer>;

  /** `entry` is large-body-thread.js. `execArgv`: see ThreadOptions. */
  constructor(entry: URL, execArgv?: string[]) {
    this.#thread = new ThreadCalls(entry, {
      heapMb: HEAP_MB,
      execArgv,
      exitError: () => new LehrError('unavailable', 'The body could not be read; send the request again.'),
    });
  }

  /**
   * The memory of `body` moves to the thread; here it is empty afterwards. Rejects with `invalid-request`, `too-large`, and
   * `overloaded` when too many large bodies wait.
   */
  async parse(body: Uint8Array<ArrayBuffer>, maxRestLength: number): Promise<ParsedBody> {
    if (this.#thread.waiting >= MAX_WAITING) {
      throw new LehrError('overloaded', 'Too many large bodies are being read.', { retryAfterS: 1 });
    }
    const answer = await this.#thread.call({ body, maxRestLength }, [body.buffer]);
    if (answer.type === 'refused') throw new LehrError(answer.code, answer.message);
    return answer;
  }

  /** Stops the thread; bodies that wait are rejected. */
  close(): Promise<void> {
    return this.#thread.close();
  }
}
