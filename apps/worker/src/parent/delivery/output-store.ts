/**
 * Stores the outputs of jobs, with retries: the bytes are the result of the engine's work, so an outage of the store must not
 * cost a second attempt.
 */
import { type Clock, LehrError, type Log, type ObjectKey, retry } from '@lehr/shared';
import type { ObjectInfo, ObjectStore } from '@lehr/shared/objects';
import type { Attempt } from './attempt.ts';

const RETRIES = { firstMs: 200, maxMs: 5_000 };

/** A write that takes longer than this shows that the store is in trouble, although it has not failed. */
const SLOW_MS = 10_000;

interface OutputStoreOptions {
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly log: Log;
  /** How long a write is retried. */
  readonly retryMs: number;
  /** One attempt to write ends after this. */
  readonly attemptMs: number;
}

/** The store is down, and the job is not at fault: it should run again once the store is back. */
export class StoreDownError extends LehrError {
  constructor(cause: unknown) {
    super('storage-failed', 'The store takes no writes', { cause });
  }
}

export class OutputStore {
  readonly #options: OutputStoreOptions;
  readonly breaker: StoreBreaker;

  constructor(options: OutputStoreOptions) {
    const { store, clock, log } = options;
    this.#options = options;
    this.breaker = new StoreBreaker({ check: () => store.check(), clock, log });
  }

  /**
   * Rejects at once when the job stops, and after `retryMs` of failed attempts: with StoreDownError when the store takes no
   * writes at all, else with `storage-failed`. Of a job that has stopped, it leaves nothing in the store.
   */
  async put(attempt: Attempt, key: ObjectKey, bytes: Uint8Array, contentType: string): Promise<ObjectInfo> {
    const { clock, log, retryMs } = this.#options;
    const giveUpAt = clock.monotonic() + retryMs;
    const write = this.breaker.follow(bytes.byteLength);
    const slow = setTimeout(write.markTroubled, SLOW_MS);
    try {
      return await retry(() => this.#putOnce(attempt, key, bytes, contentType), {
        ...RETRIES,
        clock,
        signal: attempt.signal,
        onFailure: async (error, retryInMs) => {
          if (attempt.signal.aborted) throw error;
          write.markTroubled();
          if (clock.monotonic() > giveUpAt || this.breaker.isOpen) throw await this.#finalError(error);
          log.warn({ job: attempt.record.id, error, retryInMs }, 'output could not be stored; retrying');
        },
      });
    } finally {
      clearTimeout(slow);
      write.end();
      // A job that stops removes its outputs, and this one may have reached the store after that.
      if (attempt.signal.aborted) await this.#delete(attempt, key);
    }
  }

  /** A read of an input. When it fails while the store is down, it rejects with StoreDownError. */
  async orStoreDown<T>(read: Promise<T>): Promise<T> {
    try {
      return await read;
    } catch (error) {
      const isOfStore = error instanceof LehrError && error.code === 'storage-failed';
      throw isOfStore && (await this.breaker.isStoreDown()) ? new StoreDownError(error) : error;
    }
  }

  /** Some servers accept a connection and then never answer. */
  async #putOnce(
    attempt: Attempt,
    key: ObjectKey,
    bytes: Uint8Array,
    contentType: string,
  ): Promise<ObjectInfo> {
    const { store, attemptMs } = this.#options;
    const deadline = AbortSignal.timeout(attemptMs);
    const signal = AbortSignal.any([attempt.signal, deadline]);
    return await store.put(key, bytes, { contentType, signal });
  }

  /** Never rejects: retention removes what is left. */
  async #delete(attempt: Attempt, key: ObjectKey): Promise<void> {
    const { store, log } = this.#options;
    try {
      await store.delete(key);
    } catch (error) {
      log.warn({ job: attempt.record.id, error }, 'an output of a stopped job could not be removed');
    }
  }

  async #finalError(cause: unknown): Promise<LehrError> {
    if (await this.breaker.isStoreDown()) return new StoreDownError(cause);
    return new LehrError('storage-failed', 'The result could not be written to the store', { cause });
  }

  /** Removes outputs that no record names. Never rejects: retention removes what is left. */
  async remove(attempt: Attempt, isUnused: (key: ObjectKey) => boolean): Promise<void> {
    const { store, log } = this.#options;
    try {
      const unused: ObjectKey[] = [];
      for await (const key of store.list(attempt.outputFolder)) if (isUnused(key)) unused.push(key);
      if (unused.length > 0) await store.deleteMany(unused);
    } catch (error) {
      log.warn({ job: attempt.record.id, error }, 'unused outputs could not be removed');
    }
  }
}

interface StoreBreakerOptions {
  /** Rejects while the store takes no writes. */
  readonly check: () => Promise<void>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Outputs that wait in memory. A picture takes some MB, so this is some hundred of them. */
const MAX_PENDING_BYTES = 256 * 1024 * 1024;
const CHECKS = { firstMs: 1_000, maxMs: 15_000 };

/**
 * Stops the claiming of jobs whose outputs could not be stored.
 *
 *   closed -> waiting   a write fails or takes long, or too many bytes wait to be written
 *   waiting -> closed   all of them are written
 *   any -> open         the retries of a write were used up, and the store's own check fails too
 *   open -> closed      the check passes
 */
export class StoreBreaker {
  readonly #options: StoreBreakerOptions;
  #troubled = 0;
  #pendingBytes = 0;
  #isOpen = false;

  constructor(options: StoreBreakerOptions) {
    this.#options = options;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Bytes of outputs that are not written yet. */
  get pendingBytes(): number {
    return this.#pendingBytes;
  }

  /** Whether further jobs may be claimed. */
  get isClosed(): boolean {
    return !this.#isOpen && this.#troubled === 0 && this.#pendingBytes < MAX_PENDING_BYTES;
  }

  /** Follows one write from its first attempt to its end. */
  follow(bytes: number): { readonly markTroubled: () => void; readonly end: () => void } {
    let isTroubled = false;
    this.#pendingBytes += bytes;
    return {
      markTroubled: () => {
        if (!isTroubled) this.#troubled += 1;
        isTroubled = true;
      },
      end: () => {
        if (isTroubled) this.#troubled -= 1;
        this.#pendingBytes -= bytes;
      },
    };
  }

  /** The retries of a write are used up. Returns whether the store is down; if so, the breaker is open until it is back. */
  async isStoreDown(): Promise<boolean> {
    if (this.#isOpen || (await this.#isUp())) return this.#isOpen;
    if (!this.#isOpen) void this.#waitUntilUp();
    return true;
  }

  async #waitUntilUp(): Promise<void> {
    const { clock, log } = this.#options;
    this.#isOpen = true;
    log.error({}, 'the store takes no writes; no job is claimed until it does');
    await clock.sleep(CHECKS.firstMs);
    await retry(() => this.#options.check(), { ...CHECKS, clock, onFailure: () => {} });
    this.#isOpen = false;
    log.info({}, 'the store takes writes again');
  }

  #isUp(): Promise<boolean> {
    return this.#options.check().then(
      () => true,
      () => false,
    );
  }
}
