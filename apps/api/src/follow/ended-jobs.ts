/**
 * The ends of jobs whose requests this process holds: each comes as one message with the ended record (transition.lua), on one channel
 * of this process. So a held call neither subscribes to its job nor reads it.
 */
import { randomUUID } from 'node:crypto';
import type { JobId } from '@lehr/shared';
import { type JobRecord, parseEndedJob } from '@lehr/shared/records';
import type { Keys } from '@lehr/shared/redis';
import type { Channels } from './channels.ts';

/** Absent: the record is long and must be read. */
type OnEnd = (record: JobRecord | undefined) => void;

/**
 * Ends kept for requests that do not listen yet: a worker can end a job while the reply to its creation is still being read. A request that
 * gets no message reads its job a little later.
 */
const MAX_EARLY = 64;

export class EndedJobs {
  readonly #channels: Channels;
  readonly #keys: Keys;
  readonly #name = randomUUID();
  #state: 'closed' | 'opening' | 'open' = 'closed';
  readonly #listeners = new Map<JobId, Set<OnEnd>>();
  readonly #early = new Map<JobId, JobRecord | undefined>();

  constructor(channels: Channels, keys: Keys) {
    this.#channels = channels;
    this.#keys = keys;
  }

  /** For `held_by` of a new record; undefined while the channel is not open. The first reading opens it. */
  get holder(): string | undefined {
    if (this.#state === 'closed') void this.#open();
    return this.#state === 'open' ? this.#name : undefined;
  }

  /** Whether the end of this job is sent to this process. */
  gets({ held_by }: JobRecord): boolean {
    return held_by === this.#name;
  }

  /** Calls `onEnd` when the job ends. Returns a function that removes the listener. */
  listen(id: JobId, onEnd: OnEnd): () => void {
    if (this.#early.has(id)) {
      onEnd(this.#early.get(id));
      this.#early.delete(id);
      return () => {};
    }
    const listeners = this.#listeners.get(id) ?? new Set();
    this.#listeners.set(id, listeners.add(onEnd));
    return () => {
      listeners.delete(onEnd);
      if (listeners.size === 0 && this.#listeners.get(id) === listeners) this.#listeners.delete(id);
    };
  }

  async #open(): Promise<void> {
    this.#state = 'opening';
    const isOpen = await this.#channels.open(this.#keys.ended(this.#name), (message) =>
      this.#receive(message),
    );
    this.#state = isOpen ? 'open' : 'closed';
  }

  #receive(message: string): void {
    const { id, record } = parseEndedJob(message);
    const listeners = this.#listeners.get(id);
    if (listeners) {
      for (const onEnd of listeners) onEnd(record);
      return;
    }
    this.#early.set(id, record);
    const [oldest] = this.#early.keys();
    if (this.#early.size > MAX_EARLY) this.#early.delete(oldest);
  }
}
