/** Waits for a change of a job, on behalf of a request. */
import type { Clock, JobId } from '@lehr/shared';
import type { JobRecord } from '@lehr/shared/records';
import type { Keys } from '@lehr/shared/redis';
import type { Channels } from './channels.ts';
import { WakeUp } from './wake-up.ts';

/** A lost message delays the wait by at most this. */
const RECHECK_MS = 2000;

export interface Wait {
  readonly id: JobId;
  /** The record as just read. */
  readonly first: JobRecord;
  readonly read: () => Promise<JobRecord>;
  readonly isOver: (record: JobRecord) => boolean;
  readonly timeoutMs: number;
  /** Wraps each wait for a change, so that the request is not active meanwhile. Absent: it is not counted. */
  readonly inactive?: <T>(wait: Promise<T>) => Promise<T>;
  /** Makes a signal that aborts when the caller hangs up. Called only if there is something to wait for. */
  readonly signal: () => AbortSignal;
}

export class JobWaits {
  readonly #channels: Channels;
  readonly #keys: Keys;
  readonly #clock: Clock;
  readonly #wakeUps = new Set<WakeUp>();
  #stopped = false;

  constructor(channels: Channels, keys: Keys, clock: Clock) {
    this.#channels = channels;
    this.#keys = keys;
    this.#clock = clock;
  }

  /** Requests that wait now. */
  get size(): number {
    return this.#wakeUps.size;
  }

  /** From now on every wait ends at once, with its job as it is then. */
  stop(): void {
    this.#stopped = true;
    for (const wakeUp of this.#wakeUps) wakeUp.wake();
  }

  /**
   * Reads the job until `isOver` is true, the timeout passes, the caller hangs up or the server stops. Resolves with the last
   * record read. Rejects when `read` rejects.
   */
  async until({
    id,
    first,
    read,
    isOver,
    timeoutMs,
    inactive = (each) => each,
    ...wait
  }: Wait): Promise<JobRecord> {
    if (isOver(first) || timeoutMs <= 0) return first;
    const endsAt = this.#clock.monotonic() + timeoutMs;
    const signal = wait.signal();
    let record = first;
    const wakeUp = new WakeUp(this.#clock);
    const wake = (): void => wakeUp.wake();
    this.#wakeUps.add(wakeUp);
    signal.addEventListener('abort', wake);
    const unlisten = this.#channels.listen(this.#keys.changed(id), wake);
    try {
      while (!this.#stopped && !signal.aborted) {
        const leftMs = endsAt - this.#clock.monotonic();
        if (leftMs <= 0) break;
        await inactive(wakeUp.wait(Math.min(leftMs, RECHECK_MS)));
        if (signal.aborted) break;
        record = await read();
        if (isOver(record)) break;
      }
      return record;
    } finally {
      unlisten();
      signal.removeEventListener('abort', wake);
      this.#wakeUps.delete(wakeUp);
    }
  }
}
