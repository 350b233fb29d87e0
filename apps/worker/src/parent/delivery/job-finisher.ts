/**
 * Writes the end of a job: its record and its BullMQ job together, those of a node one after the other. Its outputs were stored before
 * (output-store.ts). Each step may be repeated. A crash between the two of a node leaves a job whose lease expires; the worker that claims it
 * next finds the record ended and only closes the BullMQ job.
 */
import { type Clock, type JobId, type JobState, type Log, retry } from '@lehr/shared';
import { type AttemptStore, firstScore, type GroupQueues, type WorkflowRunner } from '@lehr/shared/queue';
import { type Move, type Outcome, type RecordStore, toStoredError } from '@lehr/shared/records';
import { traceIdOf } from '@lehr/shared/tracing';
import type { Attempt, StopReason } from './attempt.ts';
import type { OutputStore } from './output-store.ts';

export interface JobFinisherOptions {
  readonly outputs: OutputStore;
  readonly store: Pick<AttemptStore, 'end'>;
  readonly records: RecordStore;
  readonly queues: GroupQueues;
  readonly workflows: WorkflowRunner;
  readonly clock: Clock;
  readonly log: Log;
  readonly worker: string;
  /** Called before the lease is released: that it is gone is no loss any more. */
  readonly onClosing: (attempt: Attempt) => void;
}

const RETRIES = { firstMs: 200, maxMs: 5_000 };

export class JobFinisher {
  readonly #options: JobFinisherOptions;

  constructor(options: JobFinisherOptions) {
    this.#options = options;
  }

  /** Ends a job that is done. Returns the end that was written; undefined when the lease was lost. */
  succeed(attempt: Attempt): Promise<JobState | undefined> {
    return this.#end(attempt, { move: 'succeed', fields: attempt.successFields(this.#options.worker) });
  }

  /** Ends or hands back a job that was stopped, and removes the outputs of this attempt. Returns as `succeed` does. */
  async stop(attempt: Attempt, reason: StopReason): Promise<JobState | undefined> {
    const state = await this.#endEarly(attempt, reason);
    await this.#options.outputs.remove(attempt, (key) => key.includes(`/${attempt.lease}/`));
    return state;
  }

  async #endEarly(attempt: Attempt, reason: StopReason): Promise<JobState | undefined> {
    switch (reason.kind) {
      case 'lost':
        return undefined;
      case 'handed-back':
        return this.#handBack(attempt);
      case 'canceled':
        return this.#end(attempt, { move: 'cancel' }, 'cancelled by its caller');
      case 'expired':
        return this.#end(attempt, { move: 'expire' }, 'deadline passed');
      case 'failed': {
        const fields = { error: toStoredError(reason) };
        return this.#end(attempt, { move: 'fail', fields }, `${reason.code}: ${reason.message}`);
      }
    }
  }

  /** Returns the job's end when a cancel or its deadline ended it meanwhile. */
  async #handBack(attempt: Attempt): Promise<JobState | undefined> {
    const { records, queues } = this.#options;
    const { id } = attempt.record;
    this.#options.onClosing(attempt);
    const [outcome] = await this.#retryUntilWritten(() =>
      records.apply([{ move: 'requeue', id, lease: attempt.lease, refund: true }]),
    );
    const { score = firstScore(attempt.record.priority) } = attempt.record;
    await this.#retryUntilWritten(() => queues.of(attempt.claim.queue).handBack(attempt.claim, score));
    return outcome.code === 'overtaken' && outcome.state ? outcome.state : undefined;
  }

  /** With a `reason` the BullMQ job is failed, for the admin page. */
  async #end(
    attempt: Attempt,
    end: Pick<Move, 'move' | 'fields'>,
    reason?: string,
  ): Promise<JobState | undefined> {
    const { outputs, log, store, onClosing } = this.#options;
    const move = { ...end, id: attempt.record.id, lease: attempt.lease };
    const { parent } = attempt.record;
    if (!parent) onClosing(attempt);
    const outcome = parent
      ? await this.#endNode(attempt, move, parent, reason)
      : await this.#retryUntilWritten(() =>
          store.end(attempt.claim, move, { reason, charge: chargeFor(attempt) }),
        );
    const isOurs = outcome.code === 'ok' || outcome.code === 'same';
    log[isOurs ? 'info' : 'warn'](
      {
        job: attempt.record.id,
        state: outcome.state,
        code: outcome.code,
        attempt: outcome.attempt,
        trace: traceIdOf(attempt.record.trace),
      },
      isOurs ? `job ${outcome.state}` : 'job had already ended or has another lease; this result is dropped',
    );
    if (!isOurs) await outputs.remove(attempt, (key) => key.includes(`/${attempt.lease}/`));
    if (outcome.code === 'stale') return undefined;
    // An earlier attempt may have stored outputs before it died.
    if (isOurs && end.move === 'succeed' && outcome.attempt > 1) {
      await outputs.remove(attempt, (key) => !key.includes(`/${attempt.lease}/`));
    }
    // A node of a workflow that has ended meanwhile was canceled instead.
    const isEndedByUs = isOurs || outcome.code === 'overtaken';
    return isEndedByUs && outcome.state !== '' ? outcome.state : undefined;
  }

  async #endNode(
    attempt: Attempt,
    move: Move,
    workflow: JobId,
    reason: string | undefined,
  ): Promise<Outcome> {
    const { store, queues, workflows, onClosing } = this.#options;
    const options = { charge: chargeFor(attempt), isNode: true };
    const outcome = await this.#retryUntilWritten(() => store.end(attempt.claim, move, options));
    if (outcome.code === 'stale') return outcome;
    onClosing(attempt);
    // The next nodes are added to the BullMQ flow before this one leaves it, or the flow would look complete in between.
    await this.#retryUntilWritten(() => workflows.advance(workflow));
    const queue = queues.of(attempt.claim.queue);
    await this.#retryUntilWritten(() =>
      reason === undefined ? queue.complete(attempt.claim) : queue.fail(attempt.claim, reason),
    );
    return outcome;
  }

  /** Retries through a Redis outage of any length. The lease fences what must not happen twice. */
  #retryUntilWritten<T>(write: () => Promise<T>): Promise<T> {
    const { clock, log } = this.#options;
    const onFailure = (error: unknown, retryInMs: number): void =>
      log.warn({ error, retryInMs }, 'the end of a job could not be written; retrying');
    return retry(write, { ...RETRIES, clock, onFailure });
  }
}

/** An estimate that was right needs no charge. */
const chargeFor = ({ record, realCostMs }: Attempt) =>
  realCostMs === undefined || realCostMs === record.cost ? undefined : { job: record, costMs: realCostMs };
