/**
 * Direct jobs in a worker (packages/shared/src/queue/direct): they come as messages, have no record, no place in a queue and no lease, and run
 * like any other attempt. Their end goes back as a message.
 */
import {
  type Clock,
  type JobState,
  type Log,
  newLeaseToken,
  toPlainError,
  type WorkerId,
} from '@lehr/shared';
import {
  DirectJobs,
  type EndedRecord,
  HANDED_BACK,
  type RunningRecord,
  readDirectJob,
} from '@lehr/shared/direct';
import { toStoredError } from '@lehr/shared/records';
import type { Keys, Redis } from '@lehr/shared/redis';
import type { StopReason } from '../delivery/attempt.ts';
import type { JobRun } from '../runs/job-run.ts';
import type { JobRunner } from '../runs/job-runner.ts';
import type { WorkerParts } from '../runs/worker-parts.ts';

export interface DirectRunsOptions {
  readonly commands: Redis;
  readonly subscriber: Redis;
  readonly keys: Keys;
  /** How long the use of a day is kept. */
  readonly usageMs?: number | undefined;
  readonly id: WorkerId;
  readonly runner: Pick<JobRunner, 'newRun'>;
  readonly clock: Clock;
  readonly log: Log;
  /** Whether the worker may begin a job now. */
  readonly mayRun: () => boolean;
  readonly onStarted: (run: JobRun) => void;
  readonly observe: Pick<WorkerParts['observe'], 'endedAtClaim'>;
}

export class DirectRuns {
  readonly #options: DirectRunsOptions;
  readonly #jobs: DirectJobs;
  readonly #channel: string;
  #isOpen = false;

  constructor(options: DirectRunsOptions) {
    this.#options = options;
    this.#jobs = new DirectJobs(options.commands, options.keys, options.usageMs);
    this.#channel = options.keys.direct(options.id);
  }

  /** Takes jobs from now on. */
  async open(): Promise<void> {
    const { subscriber } = this.#options;
    subscriber.on('message', (channel: string, text: string) => {
      if (channel === this.#channel) this.#receive(text);
    });
    this.#isOpen = true;
    await subscriber.subscribe(this.#channel);
  }

  /**
   * Begins no more jobs: those that still come are handed back. The worker goes on listening, because the requests of the jobs that it has
   * ask on this channel whether it is there.
   */
  close(): void {
    this.#isOpen = false;
  }

  /**
   * Sends the end of a direct job that is done or stopped. Undefined when this was no end of the job: its request had given it up, it was
   * handed back, or Redis does not answer.
   */
  async finish(run: JobRun): Promise<JobState | undefined> {
    if (run.record.state !== 'running') return undefined;
    const { record } = run;
    const { clock, id } = this.#options;
    const ended = endOf(run, record, id, record.started_at + clock.monotonic() - run.claimedAt);
    const state = await this.#end(record, ended, run.realCostMs);
    return run.stopReason?.kind === 'handed-back' ? undefined : state;
  }

  #receive(message: string): void {
    const { id, runner, clock, mayRun, onStarted, observe, log } = this.#options;
    // An empty message asks only whether this worker listens.
    if (message === '') return;
    const record = readDirectJob(message, id);
    if (!record) {
      log.warn({}, 'a direct job could not be read; a newer version of the API may have sent it');
      return;
    }
    try {
      if (!this.#isOpen || !mayRun()) throw new Error('not now');
      const token = newLeaseToken(id);
      const claim = { jobId: record.id, queue: record.queue, token, deferredFailure: undefined };
      const run = runner.newRun(claim, record, clock.monotonic());
      run.isDirect = true;
      onStarted(run);
    } catch (error) {
      const failure = toPlainError(error);
      // The worker may have closed the model after it reported it: the job is not to blame.
      const isRefused = !this.#isOpen || !mayRun() || failure.code === 'model-unavailable';
      const reason: StopReason = isRefused ? { kind: 'handed-back' } : { kind: 'failed', ...failure };
      if (!isRefused) observe.endedAtClaim(record.queue, 'failed', failure.code);
      void this.#end(record, stopped(reason, common(record, id, record.started_at)));
    }
  }

  async #end(record: RunningRecord, ended: EndedRecord, costMs?: number): Promise<JobState | undefined> {
    const { log } = this.#options;
    try {
      const isOurs = await this.#jobs.end(record, ended, costMs);
      log.info(
        { job: record.id, state: ended.state },
        isOurs ? `job ${ended.state}` : 'job had already ended',
      );
      return isOurs ? ended.state : undefined;
    } catch (error) {
      log.warn(
        { job: record.id, error },
        'the end of a direct job could not be sent; its request is refused',
      );
      return undefined;
    }
  }
}

function endOf(run: JobRun, record: RunningRecord, worker: WorkerId, now: number): EndedRecord {
  const end = common(record, worker, Math.round(now));
  if (run.stopReason) return stopped(run.stopReason, end);
  return { ...end, state: 'succeeded', ...run.successFields(worker) } as EndedRecord;
}

/** The input is left out: the process that holds the request has it. */
const common = (
  { lease: _, progress: __, state: ___, ...record }: RunningRecord,
  worker: WorkerId,
  now: number,
) => ({
  ...record,
  input: {},
  rev: 3,
  worker,
  finished_at: now,
  expires_at: now,
});

function stopped(reason: StopReason, end: ReturnType<typeof common>): EndedRecord {
  switch (reason.kind) {
    case 'canceled':
      return { ...end, state: 'canceled' };
    case 'expired':
      return { ...end, state: 'expired' };
    case 'failed':
      return { ...end, state: 'failed', error: toStoredError(reason) };
    case 'handed-back':
    case 'lost': {
      const message =
        'The worker of this request stopped before it was answered. Nothing of it was kept; send it again.';
      // The API sees by this code that the job was handed back.
      return { ...end, state: 'failed', error: toStoredError({ code: HANDED_BACK, message }) };
    }
  }
}
