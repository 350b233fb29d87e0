/** Waits for a change of a job, on behalf of a request. */
import { randomUUID } from 'node:crypto';
import { type Clock, type JobId, type TenantId, WakeUp } from '@lehr/shared';
import { type JobRecord, parseEndedJob } from '@lehr/shared/records';
import type { Keys } from '@lehr/shared/redis';
import type { Channels } from './channels.ts';

/** A lost message delays the wait by at most this, when the tenant has few waits. */
const RECHECK_MS = 2000;
/** A held job whose end is sent to this process is followed like any other from this time on, because a message can be lost. */
const OWN_MS = 250;
/** With more waits of its tenant each one is checked less often, so that the checks of all together take bounded time. */
const MAX_RECHECKS_PER_S = 200;

interface Wait {
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

/** The end of a job that is sent to this process. */
interface OwnEnd {
  /** Once it has come; absent for a long record. */
  record?: JobRecord | undefined;
  readonly unlisten: () => void;
}

export class JobWaits {
  readonly #channels: Channels;
  readonly #keys: Keys;
  readonly #clock: Clock;
  readonly #ended: EndedJobs;
  readonly #wakeUps = new Set<WakeUp>();
  /** Waits by tenant. */
  readonly #counts = new Map<TenantId, number>();
  #stopped = false;

  constructor(channels: Channels, keys: Keys, clock: Clock) {
    this.#channels = channels;
    this.#keys = keys;
    this.#clock = clock;
    this.#ended = new EndedJobs(channels, keys);
  }

  /** For `held_by` of a new record whose request will wait here. */
  get holder(): string | undefined {
    return this.#ended.holder;
  }

  /** Calls `onEnd` when a job that is held by this process ends. Returns a function that removes the listener. */
  listenForEnd(id: JobId, onEnd: (record: JobRecord | undefined) => void): () => void {
    return this.#ended.listen(id, onEnd);
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
    const leave = this.#enter(first.tenant, wakeUp);
    signal.addEventListener('abort', wake);
    const end = this.#ended.gets(first) ? this.#listenForEnd(id, wake) : undefined;
    let unlisten = end ? undefined : this.#listenForChanges(id, wake);
    try {
      while (!this.#stopped && !signal.aborted) {
        const leftMs = endsAt - this.#clock.monotonic();
        if (leftMs <= 0) break;
        const checkMs = unlisten ? this.#recheckMs(first.tenant) : OWN_MS;
        await inactive(wakeUp.wait(Math.min(leftMs, checkMs)));
        if (signal.aborted) break;
        record = end?.record ?? (await read());
        if (isOver(record)) break;
        unlisten ??= this.#listenForChanges(id, wake);
      }
      return record;
    } finally {
      end?.unlisten();
      unlisten?.();
      signal.removeEventListener('abort', wake);
      leave();
    }
  }

  #listenForChanges(id: JobId, wake: () => void): () => void {
    return this.#channels.listen(this.#keys.changed(id), wake);
  }

  #listenForEnd(id: JobId, wake: () => void): OwnEnd {
    const own: { record?: JobRecord | undefined } = {};
    const unlisten = this.#ended.listen(id, (record) => {
      own.record = record;
      wake();
    });
    return Object.assign(own, { unlisten });
  }

  #enter(tenant: TenantId, wakeUp: WakeUp): () => void {
    this.#wakeUps.add(wakeUp);
    this.#counts.set(tenant, (this.#counts.get(tenant) ?? 0) + 1);
    return () => {
      this.#wakeUps.delete(wakeUp);
      const left = (this.#counts.get(tenant) ?? 1) - 1;
      if (left > 0) this.#counts.set(tenant, left);
      else this.#counts.delete(tenant);
    };
  }

  #recheckMs(tenant: TenantId): number {
    return Math.max(RECHECK_MS, ((this.#counts.get(tenant) ?? 0) / MAX_RECHECKS_PER_S) * 1000);
  }
}

/** Absent: the record is long and must be read. */
type OnEnd = (record: JobRecord | undefined) => void;

/**
 * Ends kept for requests that do not listen yet: a worker can end a job while the reply to its creation is still being read. A request that
 * gets no message reads its job a little later.
 */
const MAX_EARLY = 64;

/**
 * The ends of jobs whose requests this process holds: each comes as one message with the ended record (transition.lua), on one channel
 * of this process. So a held call neither subscribes to its job nor reads it.
 */
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
