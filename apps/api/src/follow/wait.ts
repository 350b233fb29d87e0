/** Holding a request until its job changes. */
import type { Clock, JobId } from '@lehr/shared';
import type { JobRecord } from '@lehr/shared/records';
import type { Keys } from '@lehr/shared/redis';
import type { Channels } from './channels.ts';
import { WakeUp } from './wake-up.ts';

/** A lost message costs at most this much. */
const RECHECK_MS = 2000;

export interface Wait {
  readonly id: JobId;
  /** What the caller has read just now. */
  readonly first: JobRecord;
  readonly read: () => Promise<JobRecord>;
  readonly isOver: (record: JobRecord) => boolean;
  readonly timeoutMs: number;
  /** Gives a signal that aborts when the caller has gone. Asked for only when there is something to wait for. */
  readonly signal: () => AbortSignal;
}

export class JobWaits {
  readonly #channels: Channels;
  readonly #keys: Keys;
  readonly #clock: Clock;
  readonly #bells = new Set<WakeUp>();
  #stopped = false;

  constructor(channels: Channels, keys: Keys, clock: Clock) {
    this.#channels = channels;
    this.#keys = keys;
    this.#clock = clock;
  }

  /** Requests held now. */
  get size(): number {
    return this.#bells.size;
  }

  /** From now on every wait ends at once with what its job is at that moment. */
  stop(): void {
    this.#stopped = true;
    for (const bell of this.#bells) bell.ring();
  }

  /**
   * Reads the job until `isOver` says so, the time is up, the caller goes or the server stops, and returns what was
   * read last. Rejects with whatever `read` rejects with.
   */
  async until({ id, first, read, isOver, timeoutMs, ...wait }: Wait): Promise<JobRecord> {
    if (isOver(first) || timeoutMs <= 0) return first;
    const endsAt = this.#clock.monotonic() + timeoutMs;
    const signal = wait.signal();
    let record = first;
    const bell = new WakeUp(this.#clock);
    const ring = (): void => bell.ring();
    this.#bells.add(bell);
    signal.addEventListener('abort', ring);
    const unlisten = this.#channels.listen(this.#keys.changed(id), ring);
    try {
      while (!this.#stopped && !signal.aborted) {
        const leftMs = endsAt - this.#clock.monotonic();
        if (leftMs <= 0) break;
        await bell.rung(Math.min(leftMs, RECHECK_MS));
        if (signal.aborted) break;
        record = await read();
        if (isOver(record)) break;
      }
      return record;
    } finally {
      unlisten();
      signal.removeEventListener('abort', ring);
      this.#bells.delete(bell);
    }
  }
}
