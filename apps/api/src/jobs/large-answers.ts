/**
 * Writes answers with large results in a thread, so that none of them holds the event loop: two million numbers take half a second to
 * write. One at a time: large answers wait for each other and for nothing else, and each tenant has one of them in this line.
 * Written answers stay in memory until their callers have read them, so their bytes are bounded.
 */
import { Holdings, LehrError, type TenantId } from '@lehr/shared';
import { TenantTurns } from '../http/bodies/tenant-turns.ts';
import { ThreadCalls } from '../http/thread-calls.ts';

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

interface LargeAnswerCall extends Pick<LargeAnswerTask, 'tokens' | 'shape'> {
  /** Gets the stored result when it is the turn of the tenant. */
  readonly read: () => Promise<Uint8Array<ArrayBuffer>>;
  /** Aborted when the caller hangs up: a result whose turn comes later is not read. */
  readonly signal: AbortSignal;
  /** Calls the function once when the answer has been sent or its connection has closed; until then its bytes count as unsent. */
  readonly onClosed: (release: () => void) => void;
}

/** The thread's own JavaScript heap: the stored text, its parsed form and the answer. */
const HEAP_MB = 768;

export class LargeAnswers {
  readonly #thread: ThreadCalls<Omit<LargeAnswerTask, 'id'>, LargeAnswer>;
  readonly #turns = new TenantTurns(Number.POSITIVE_INFINITY);
  readonly #unsent: UnsentAnswers;

  /** `entry` is large-answer-thread.js. */
  constructor(entry: URL, execArgv?: string[], limits = UNSENT_LIMITS) {
    this.#unsent = new UnsentAnswers(limits);
    this.#thread = new ThreadCalls(entry, {
      heapMb: HEAP_MB,
      exitError: () =>
        new LehrError('unavailable', 'The result could not be written; send the request again.'),
      execArgv,
    });
  }

  /**
   * JSON in UTF-8. Rejects as `read` does, with `overloaded` when too much waits unsent, and with `unavailable` when the thread ends or
   * the caller has hung up.
   */
  write(
    tenant: TenantId,
    { read, signal, onClosed, ...task }: LargeAnswerCall,
  ): Promise<Uint8Array<ArrayBuffer>> {
    return this.#turns.run(tenant, async () => {
      if (signal.aborted)
        throw new LehrError('unavailable', 'The caller hung up before its answer was written.');
      this.#unsent.check(tenant);
      const stored = await read();
      const answer = await this.#thread.call({ stored, ...task }, [stored.buffer]);
      if (answer.type === 'failed') throw answer.error;
      onClosed(this.#unsent.add(tenant, answer.json.byteLength));
      return answer.json;
    });
  }

  /** Stops the thread; answers that wait are rejected. */
  close(): Promise<void> {
    return this.#thread.close();
  }
}

interface UnsentLimits {
  /** Bytes of one tenant above which its next large answer is refused. */
  readonly ofTenant: number;
  /** Bytes of all tenants above which every large answer is refused. */
  readonly total: number;
}

const MIB = 1024 * 1024;
/** One answer may have 42 MB, and is written as long as the bytes before it are below these. */
const UNSENT_LIMITS: UnsentLimits = { ofTenant: 64 * MIB, total: 256 * MIB };

const RETRY_AFTER_S = 2;

/** Bounds the large answers that are written and wait in memory for callers that read them slowly. */
class UnsentAnswers {
  readonly #limits: UnsentLimits;
  readonly #bytes = new Holdings<TenantId>();

  constructor(limits: UnsentLimits) {
    this.#limits = limits;
  }

  /** Throws `overloaded` when the unsent answers, of this tenant or of all, have reached their limit. */
  check(tenant: TenantId): void {
    const own = this.#bytes.of(tenant);
    if (own < this.#limits.ofTenant && this.#bytes.total < this.#limits.total) return;
    const whose = own < this.#limits.ofTenant ? 'of all tenants' : 'of this tenant';
    throw new LehrError('overloaded', `Too many large answers ${whose} wait until their callers read them.`, {
      retryAfterS: RETRY_AFTER_S,
    });
  }

  /** Counts an answer until the function that it returns is called. */
  add(tenant: TenantId, bytes: number): () => void {
    this.#bytes.add(tenant, bytes);
    return () => this.#bytes.add(tenant, -bytes);
  }
}
