/**
 * Writes answers with large results in a thread, so that none of them holds the event loop: two million numbers take half a second to
 * write. One at a time: large answers wait for each other and for nothing else, and each tenant has one of them in this line.
 */
import { LehrError, type TenantId } from '@lehr/shared';
import { TenantTurns } from '../bodies/tenant-turns.ts';
import { ThreadCalls } from '../thread-calls.ts';

export interface LargeAnswerTask {
  readonly id: number;
  /** JSON of a StoredTextResult, in UTF-8. */
  readonly stored: Uint8Array<ArrayBuffer>;
  /** That the model read. */
  readonly tokens: number;
  /** How the dialect of the caller shows the result, as plain data. */
  readonly shape: object;
}

export type LargeAnswer =
  | { readonly type: 'written'; readonly id: number; readonly json: Uint8Array<ArrayBuffer> }
  | { readonly type: 'failed'; readonly id: number; readonly error: Error };

/** The thread's own JavaScript heap: the stored text, its parsed form and the answer. */
const HEAP_MB = 768;

export class LargeAnswers {
  readonly #thread: ThreadCalls<Omit<LargeAnswerTask, 'id'>, LargeAnswer>;
  readonly #turns = new TenantTurns(Number.POSITIVE_INFINITY);

  /** `entry` is large-answer-thread.js. */
  constructor(entry: URL, execArgv?: string[]) {
    this.#thread = new ThreadCalls(entry, {
      heapMb: HEAP_MB,
      exitError: () =>
        new LehrError('unavailable', 'The result could not be written; send the request again.'),
      execArgv,
    });
  }

  /**
   * JSON in UTF-8. `read` gets the stored result when it is the turn of the tenant. Rejects as `read` does, and with `unavailable` when
   * the thread ends.
   */
  write(
    tenant: TenantId,
    {
      read,
      ...task
    }: Pick<LargeAnswerTask, 'tokens' | 'shape'> & { readonly read: () => Promise<Uint8Array<ArrayBuffer>> },
  ): Promise<Uint8Array<ArrayBuffer>> {
    return this.#turns.run(tenant, async () => {
      const stored = await read();
      const answer = await this.#thread.call({ stored, ...task }, [stored.buffer]);
      if (answer.type === 'failed') throw answer.error;
      return answer.json;
    });
  }

  /** Stops the thread; answers that wait are rejected. */
  close(): Promise<void> {
    return this.#thread.close();
  }
}
