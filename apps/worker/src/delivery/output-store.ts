/**
 * Stores the outputs of jobs, with retries: the bytes are the result of the engine's work, so an outage of the store must not
 * cost a second attempt.
 */
import { type Clock, LehrError, type Log, type ObjectKey } from '@lehr/shared';
import type { ObjectInfo, ObjectStore } from '@lehr/shared/objects';
import type { Attempt } from './attempt.ts';

const FIRST_RETRY_MS = 200;
const MAX_RETRY_MS = 5_000;

export interface OutputStoreOptions {
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly log: Log;
  /** How long a write is retried. */
  readonly retryMs: number;
}

export class OutputStore {
  readonly #options: OutputStoreOptions;
  #failing = 0;

  constructor(options: OutputStoreOptions) {
    this.#options = options;
  }

  /** Whether a write has failed and is being retried; meanwhile no further job should be claimed. */
  get isFailing(): boolean {
    return this.#failing > 0;
  }

  /** Rejects with `storage-failed` after `retryMs`, and at once when the job stops. */
  async put(attempt: Attempt, key: ObjectKey, bytes: Uint8Array, contentType: string): Promise<ObjectInfo> {
    const { store, clock, log, retryMs } = this.#options;
    const giveUpAt = clock.monotonic() + retryMs;
    let hasFailed = false;
    try {
      for (let delayMs = FIRST_RETRY_MS; ; delayMs = Math.min(delayMs * 2, MAX_RETRY_MS)) {
        try {
          return await store.put(key, bytes, { contentType, signal: attempt.signal });
        } catch (error) {
          if (attempt.signal.aborted) throw error;
          if (clock.monotonic() > giveUpAt) {
            throw new LehrError('storage-failed', 'The result could not be written to the store', {
              cause: error,
            });
          }
          if (!hasFailed) {
            hasFailed = true;
            this.#failing += 1;
          }
          log.warn(
            { job: attempt.record.id, error, retryInMs: delayMs },
            'output could not be stored; retrying',
          );
          await clock.sleep(delayMs * (0.5 + Math.random() / 2), attempt.signal);
        }
      }
    } finally {
      if (hasFailed) this.#failing -= 1;
    }
  }

  /** Removes outputs that no record names. Never rejects: retention removes what is left. */
  async remove(attempt: Attempt, isUnused: (key: ObjectKey) => boolean): Promise<void> {
    const { store, log } = this.#options;
    try {
      for await (const key of store.list(attempt.outputFolder)) if (isUnused(key)) await store.delete(key);
    } catch (error) {
      log.warn({ job: attempt.record.id, error }, 'unused outputs could not be removed');
    }
  }
}
