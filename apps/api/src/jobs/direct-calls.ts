/**
 * Requests that ask for no record (`durability: "none"`): an admitted job goes straight to a worker, and its end comes straight back
 * (packages/shared/src/queue/direct). Whatever cannot go this way has a record like any other job.
 */
import { type Clock, isTextJobType, LehrError, type Log, WakeUp, type WorkerId } from '@lehr/shared';
import {
  DIRECT_MS,
  DirectJobs,
  HANDED_BACK,
  MAX_DIRECT_COST_MS,
  type RunningRecord,
} from '@lehr/shared/direct';
import type { GroupQueues, PricedJob } from '@lehr/shared/queue';
import type { JobRecord, NewJob } from '@lehr/shared/records';
import type { Keys, Redis } from '@lehr/shared/redis';
import type { Caller } from '../access/auth/authenticator.ts';
import type { Quotas } from '../access/quotas.ts';
import { type FleetView, serving } from '../fleet/fleet-view.ts';
import type { JobWaits } from '../follow/wait.ts';
import type { RequestIdentity } from './identity.ts';

/** A request with more is worth a record. */
const MAX_DIRECT_TEXTS = 8;
const MAX_BYTES = 8192;
const MAX_TOP_K = 100;
const DEFAULT_TOP_K = 5;
/**
 * Of the texts that a fill-mask job may make: one of the length of its text for every mask and token. They come in one message, and Redis
 * closes a subscriber's connection that does not read as much as comes.
 */
const MAX_FILLED_CHARS = 256 * 1024;
/** Only the worker knows the mask of a model; `[MASK]` and `<mask>` have as many characters. */
const MASK_CHARS = 6;
/** Workers that one command considers. */
const MAX_WORKERS = 16;
/** How often it is checked that the worker still listens. */
const CHECK_MS = 250;

export interface DirectCallsOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly queues: GroupQueues;
  readonly fleet: FleetView;
  readonly waits: Pick<JobWaits, 'listenForEnd'>;
  readonly quotas: Pick<Quotas, 'refund'>;
  readonly clock: Clock;
  readonly log: Log;
}

export interface DirectJob {
  readonly record: RunningRecord;
  /**
   * The job when it has ended; undefined when the worker handed it back: then its price was returned, and a job with a record can take its
   * place. Rejects with `unavailable` when its worker is gone, or the signal or too much time ends the wait.
   */
  end(signal: AbortSignal): Promise<JobRecord | undefined>;
}

/** Whether a job is small, needs no record, and can be answered by its request only. */
export function mayBeDirect(
  { type, input, cost, held_by, hook_events, webhook, rollout, retried_from, later, concurrency }: PricedJob,
  attachments: readonly unknown[],
  identity: RequestIdentity,
): boolean {
  if (later || !isTextJobType(type) || held_by === undefined || attachments.length > 0) return false;
  // A webhook, a key, a rollout and a limit on what runs at once need the record of an ended job.
  if (hook_events || webhook || rollout || retried_from || concurrency || identity.idempotency) return false;
  const { texts, top_k } = input as { texts: readonly unknown[]; top_k?: number | null };
  if (texts.length > MAX_DIRECT_TEXTS || cost > MAX_DIRECT_COST_MS || (top_k ?? 0) > MAX_TOP_K) return false;
  if (type === 'fill-mask' && filledChars(texts, top_k ?? DEFAULT_TOP_K) > MAX_FILLED_CHARS) return false;
  return Buffer.byteLength(JSON.stringify(texts)) <= MAX_BYTES;
}

/** The most characters that a fill-mask job can make, if its texts are masks and nothing else. */
function filledChars(texts: readonly unknown[], topK: number): number {
  const chars = (text: unknown): number => (typeof text === 'string' ? text.length : 0);
  return texts.reduce<number>(
    (sum, text) => sum + Math.ceil(chars(text) / MASK_CHARS) * topK * chars(text),
    0,
  );
}

export class DirectCalls {
  readonly #options: DirectCallsOptions;
  readonly #jobs: DirectJobs;

  constructor(options: DirectCallsOptions) {
    this.#options = options;
    this.#jobs = new DirectJobs(options.redis, options.keys);
  }

  /** Undefined when jobs of the group wait or no worker can take the job: then it needs a record. */
  async send(caller: Caller, job: NewJob): Promise<DirectJob | undefined> {
    const { fleet, queues, waits, clock } = this.#options;
    const workers = someOf(serving(await fleet.workers(), job.model).map(({ id }) => id));
    if (workers.length === 0) return undefined;
    const wakeUp = new WakeUp(clock);
    let ended: JobRecord | undefined;
    // Before the job is sent: its end may come before the reply.
    const unlisten = waits.listenForEnd(job.id, (record) => {
      ended = record;
      wakeUp.wake();
    });
    const record = await this.#jobs.send(job, queues, workers).catch((error) => {
      unlisten();
      throw error;
    });
    if (!record) {
      unlisten();
      return undefined;
    }
    const end = async (signal: AbortSignal): Promise<JobRecord | undefined> => {
      const wake = (): void => wakeUp.wake();
      signal.addEventListener('abort', wake);
      try {
        await this.#wait(record, wakeUp, () => ended !== undefined || signal.aborted);
        // A caller that hangs up pays for the work that it began.
        if (!ended) throw await this.#giveUp(record, signal.aborted ? undefined : caller);
        if (ended.state === 'failed' && ended.error.code === HANDED_BACK) {
          await this.#options.quotas.refund(caller, job.cost);
          return undefined;
        }
        // The message leaves the input out.
        return { ...ended, input: job.input };
      } finally {
        signal.removeEventListener('abort', wake);
        unlisten();
      }
    };
    return { record, end };
  }

  /** Until `isOver`, the worker is gone, or the time for a direct job is over. */
  async #wait({ worker }: RunningRecord, wakeUp: WakeUp, isOver: () => boolean): Promise<void> {
    const { clock } = this.#options;
    const endsAt = clock.monotonic() + DIRECT_MS;
    for (;;) {
      const leftMs = endsAt - clock.monotonic();
      if (isOver() || leftMs <= 0) return;
      await wakeUp.wait(Math.min(leftMs, CHECK_MS));
      if (isOver()) return;
      // While Redis does not answer, nothing is known of the worker.
      const isHeard = worker !== undefined && (await this.#jobs.isHeard(worker).catch(() => true));
      if (!isHeard) return;
    }
  }

  /** Frees what the job holds, stops it if it still runs, and returns what `payer` paid for it. */
  async #giveUp(record: RunningRecord, payer: Caller | undefined): Promise<LehrError> {
    const { quotas, log } = this.#options;
    const { id, worker, cost } = record;
    try {
      const [isOurs] = await Promise.all([this.#jobs.end(record), worker && this.#jobs.cancel(worker, id)]);
      if (isOurs && payer) await quotas.refund(payer, cost);
    } catch (error) {
      log.warn({ error, job: id }, 'a direct job could not be given up; the janitor frees its place');
    }
    return new LehrError(
      'unavailable',
      'The worker of this request gave no answer in time. Nothing of it was kept; send it again.',
    );
  }
}

/** At most MAX_WORKERS of them, each with the same chance to be first. */
function someOf(workers: readonly WorkerId[]): readonly WorkerId[] {
  const first = Math.floor(Math.random() * workers.length);
  return [...workers.slice(first), ...workers.slice(0, first)].slice(0, MAX_WORKERS);
}
