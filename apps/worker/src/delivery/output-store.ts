/**
 * Where finished outputs go, patiently: the engine's work is in these bytes, so a store that is away for a while costs time
 * and not a second run.
 */
import { type Clock, LehrError, type Log, type ObjectKey } from '@lehr/shared';
import type { ObjectInfo, ObjectStore } from '@lehr/shared/objects';
import type { JobRun } from '../runs/job-run.ts';

const FIRST_RETRY_MS = 200;
const MAX_RETRY_MS = 5_000;

export interface OutputStoreOptions {
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly log: Log;
  /** How long bytes are held and offered to a store that refuses them. */
  readonly patienceMs: number;
}

export class OutputStore {
  readonly #options: OutputStoreOptions;
  #struggling = 0;

  constructor(options: OutputStoreOptions) {
    this.#options = options;
  }

  /** Puts are failing and being tried again: while there are any, no new job should be taken. */
  get isFailing(): boolean {
    return this.#struggling > 0;
  }

  /** Rejects with `storage-failed` when patience runs out, and at once when the job stops. */
  async put(run: JobRun, key: ObjectKey, bytes: Uint8Array, contentType: string): Promise<ObjectInfo> {
    const { store, clock, log, patienceMs } = this.#options;
    const giveUpAt = clock.monotonic() + patienceMs;
    let struggling = 0;
    try {
      for (let delayMs = FIRST_RETRY_MS; ; delayMs = Math.min(delayMs * 2, MAX_RETRY_MS)) {
        try {
          return await store.put(key, bytes, { contentType, signal: run.signal });
        } catch (error) {
          if (run.signal.aborted) throw error;
          if (clock.monotonic() > giveUpAt) {
            throw new LehrError('storage-failed', 'The result could not be written to the store', {
              cause: error,
            });
          }
          if (struggling === 0) {
            struggling = 1;
            this.#struggling += 1;
          }
          log.warn(
            { job: run.record.id, error, retryInMs: delayMs },
            'store refused an output; trying again',
          );
          await clock.sleep(delayMs * (0.5 + Math.random() / 2), run.signal);
        }
      }
    } finally {
      this.#struggling -= struggling;
    }
  }

  /** Removes outputs of a job that nobody will see. Never rejects: retention removes what this could not. */
  async remove(run: JobRun, which: (key: ObjectKey) => boolean): Promise<void> {
    const { store, log } = this.#options;
    try {
      for await (const key of store.list(run.outputFolder)) if (which(key)) await store.delete(key);
    } catch (error) {
      log.warn({ job: run.record.id, error }, 'outputs nobody will see could not be removed');
    }
  }
}
