/**
 * The jobs that run on this worker's engine: submits their samples, takes what the engine returns, and follows every job to
 * the moment when its end can be written, through a cancel, a deadline, a lost lease and a dead engine.
 *
 * Jobs are identified by their run, never by their id: a worker that lost a lease may claim the same job again while the
 * earlier run is still stopping.
 */
import { type Clock, type Log, toPlainError } from '@lehr/shared';
import type { FromEngine, SampleId, SegmentMessage, ToEngine } from '../../engine/protocol/messages.ts';
import type { StopReason } from '../delivery/attempt.ts';
import { StoreDownError } from '../delivery/output-store.ts';
import type { EngineExit } from '../supervisor/engine-process.ts';
import type { CheckpointMessage, Checkpoints } from './checkpoints.ts';
import { CrashSuspects } from './crash-suspects.ts';
import type { InputShares } from './input-shares.ts';
import type { JobRun, SampleRun } from './job-run.ts';
import type { LaneRows } from './lane-rows.ts';

/** Writes the progress of jobs (reports/progress.ts). */
interface ProgressListener {
  note(run: JobRun): void;
  forget(run: JobRun): void;
}

/** Requests and publishes previews (reports/previews.ts). */
interface PreviewListener {
  stepped(run: JobRun): void;
  publish(run: JobRun, sample: SampleRun, message: PreviewMessage): Promise<void>;
}

type PreviewMessage = Extract<FromEngine, { type: 'preview' }>;

export interface RunsOptions {
  readonly laneRows: LaneRows;
  readonly inputs: Pick<InputShares, 'add' | 'remove'>;
  readonly progress: ProgressListener;
  readonly previews: PreviewListener;
  /** Absent: the engine makes none. */
  readonly checkpoints?: Checkpoints | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly send: (message: ToEngine) => void;
}

/** The messages after which the engine has nothing left of a sample. */
export type SampleEnd = Extract<
  FromEngine,
  { type: 'finished' | 'transcribed' | 'answered' | 'transformed' | 'failed' | 'canceled' }
>;

export interface SubmittedSample {
  readonly run: JobRun;
  readonly sample: SampleRun;
}

export class Runs {
  readonly #options: RunsOptions;
  /** Active runs, each with the function that resolves its `run` call. */
  readonly #runs = new Map<JobRun, () => void>();
  readonly #samples = new Map<SampleId, SubmittedSample>();
  readonly #suspects = new CrashSuspects();
  /** The samples of the last `running` message. */
  #running: readonly SampleId[] = [];

  constructor(options: RunsOptions) {
    this.#options = options;
  }

  /** Whether the engine has samples that have not ended. */
  get engineIsBusy(): boolean {
    return this.#samples.size > 0;
  }

  /** The samples that the engine has, in the order in which it got them. */
  get submitted(): readonly SubmittedSample[] {
    return [...this.#samples.values()];
  }

  /** Whether an active run is of this model (`name@version`). */
  usesModel(ref: string): boolean {
    return [...this.#runs.keys()].some(({ models }) => models.includes(ref));
  }

  /** Runs a job. Resolves when its end can be written: it is done or stopped, and the engine has no sample of it. Never rejects. */
  async run(run: JobRun): Promise<void> {
    const { claim, firstRows, record } = run;
    if (!run.fetchesInput)
      this.#options.laneRows.reserve(run.lease, claim.queue, firstRows, record.cost, record.priority);
    await new Promise<void>((resolve) => {
      this.#runs.set(run, resolve);
      void this.#work(run, () => this.#begin(run));
    });
    await this.#options.checkpoints?.close(run);
  }

  /** Ends a job early. The engine drops its samples within a step; then `run` resolves. */
  stop(run: JobRun, reason: StopReason): void {
    if (!this.#runs.has(run)) return;
    const isTooLong = reason.kind === 'failed' && reason.code === 'run-too-long';
    // The time is that of the more urgent jobs for which it paused. It continues at its checkpoint when a worker is idle.
    const isPaused = run.record.priority === 'bulk' && this.#options.laneRows.pausesBulk;
    run.stop(isTooLong && isPaused ? { kind: 'handed-back' } : reason);
    this.#options.progress.forget(run);
    const type = run.stopReason?.kind === 'handed-back' ? 'suspend' : 'cancel';
    for (const { request } of run.samplesInEngine) this.#options.send({ type, sample: request.id });
    this.#finishIfOver(run);
  }

  /** The lane that the engine works on; undefined when it has reported none. */
  get runningLane(): string | undefined {
    const [sample] = this.#running;
    return sample === undefined ? undefined : this.laneOf(sample);
  }

  laneOf(sample: SampleId): string | undefined {
    const submitted = this.#samples.get(sample)?.sample;
    return submitted?.lane ?? submitted?.request.lane;
  }

  /** A sample that the engine has, and its run. */
  find(id: SampleId): SubmittedSample | undefined {
    return this.#samples.get(id);
  }

  /** The engine now works on these samples. */
  engineRuns(samples: readonly SampleId[]): void {
    this.#running = samples;
  }

  /** `steps`: those that it makes in all; absent where they are not known. */
  sampleStepped(id: SampleId, step: number, steps?: number): void {
    const submitted = this.#samples.get(id);
    if (!submitted) return;
    submitted.sample.step = step;
    if (steps !== undefined) {
      submitted.sample.steps = steps;
      this.#options.laneRows.stepped(id, step / steps);
    }
    if (submitted.run.stopReason) return;
    this.#options.progress.note(submitted.run);
    this.#options.previews.stepped(submitted.run);
  }

  /** The sample begins its second pass in another lane. */
  changeLane(id: SampleId, lane: string): void {
    const submitted = this.#samples.get(id);
    if (!submitted) return;
    const { run, sample } = submitted;
    sample.lane = lane;
    this.#options.laneRows.release(id);
    this.#takeRows(run, sample, lane);
  }

  /** The engine has made, used or ignored checkpoints. */
  checkpointed(message: CheckpointMessage): void {
    this.#options.checkpoints?.receive(message, (id) => this.#samples.get(id));
  }

  addSegment(message: SegmentMessage): void {
    const submitted = this.#samples.get(message.sample);
    if (!submitted || submitted.run.stopReason) return;
    submitted.run.addSegment(submitted.sample, message);
    this.#options.progress.note(submitted.run);
  }

  publishPreview(message: Extract<FromEngine, { type: 'preview' }>): void {
    const submitted = this.#samples.get(message.sample);
    if (!submitted || submitted.run.stopReason) return;
    void this.#options.previews.publish(submitted.run, submitted.sample, message);
  }

  endSample(message: SampleEnd): void {
    const submitted = this.#removeSample(message.sample);
    if (!submitted) return;
    const { run, sample } = submitted;
    if (message.type === 'failed') this.stop(run, { kind: 'failed', ...message.failure });
    else if (message.type !== 'canceled') void this.#work(run, () => run.addResult(sample, message));
    this.#finishIfOver(run);
  }

  /** Fails the jobs that made the engine crash. The others wait for `resubmit`. */
  engineDied(exit: EngineExit): void {
    const running = this.#running.filter((id) => this.#samples.has(id));
    const failing = exit.wasOpening ? [] : this.#suspects.crashed(running, exit.hung ? null : exit.signal);
    this.#running = [];
    this.#options.laneRows.releaseAll();
    // The log names the jobs of the batch. The error of a job does not: its batch mates may be jobs of other tenants.
    const jobs = [...new Set(running.map((id) => this.#samples.get(id)?.run.record.id))];
    this.#options.log.error(
      { exit, running: running.length, submitted: this.#samples.size, failing, jobs },
      'engine died',
    );
    const how = exit.hung ? 'hung' : `died (${exit.signal ?? `code ${exit.code}`})`;
    for (const id of failing) {
      const sizes = this.#suspects.crashedBatches(id).join(', ');
      const message = `The engine ${how} every time it ran this job. Pictures, windows of audio, text jobs or transforms in these batches: ${sizes}.`;
      this.#samples.get(id)?.run.stop({ kind: 'failed', code: 'engine-crashed', message });
    }
    this.#removeStopped();
  }

  /** A new engine is ready: submits every sample that the old one had, suspects with fewer batch mates. */
  resubmit(): void {
    this.#removeStopped();
    for (const run of this.#runs.keys()) {
      if (run.samplesInEngine.length > 0) this.#submit(run, run.samplesInEngine);
    }
  }

  #submit(run: JobRun, samples: readonly SampleRun[]): void {
    const { laneRows, clock, send } = this.#options;
    laneRows.unreserve(run.lease);
    const requests = samples.map((sample) => {
      const { id, lane } = sample.request;
      sample.submittedAt = clock.monotonic();
      sample.step = 0;
      delete sample.lane;
      sample.inEngine = true;
      this.#samples.set(id, { run, sample });
      this.#takeRows(run, sample, lane);
      const { request, checkpoint } = sample;
      const maxBatchMates = this.#suspects.maxBatchMates(id);
      return { ...request, maxBatchMates, ...(request.task === 'diffusion' && checkpoint && { checkpoint }) };
    });
    send({ type: 'submit', samples: requests });
  }

  #takeRows(run: JobRun, { request, rows }: SampleRun, lane: string): void {
    // An engine that was started again gets only the samples that are left.
    const costMs = run.leftMs / run.samples.length;
    this.#options.laneRows.take(request.id, lane, rows, costMs, run.record.priority);
  }

  /** The engine has nothing left of this sample. */
  #removeSample(id: SampleId): SubmittedSample | undefined {
    const submitted = this.#samples.get(id);
    if (!submitted) return undefined;
    this.#samples.delete(id);
    this.#suspects.forget(id);
    this.#options.laneRows.release(id);
    submitted.sample.inEngine = false;
    return submitted;
  }

  /** A dead engine answers no cancel: the samples of stopped jobs end here. */
  #removeStopped(): void {
    for (const { run, sample } of [...this.#samples.values()]) {
      if (!run.stopReason) continue;
      this.#removeSample(sample.request.id);
      this.#finishIfOver(run);
    }
  }

  async #begin(run: JobRun): Promise<readonly SampleRun[]> {
    if (!run.fetchesInput) return run.begin();
    const { inputs } = this.#options;
    inputs.add(run.record);
    return run.begin().finally(() => inputs.remove(run.record));
  }

  /** Work of a job outside the engine. Submits the samples that it returns; when it rejects, the job fails. */
  async #work(run: JobRun, work: () => Promise<readonly SampleRun[]>): Promise<void> {
    if (run.stopReason) return;
    try {
      const next = await work();
      if (!run.stopReason && next.length > 0) this.#submit(run, next);
      if (!run.stopReason && !run.isDone) this.#options.progress.note(run);
    } catch (error) {
      // A job that was stopped aborts its own work; the rejection is then expected.
      if (!run.stopReason) this.stop(run, reasonOf(error));
    }
    this.#finishIfOver(run);
  }

  #finishIfOver(run: JobRun): void {
    const resolve = this.#runs.get(run);
    if (!resolve || run.samplesInEngine.length > 0) return;
    if (!run.stopReason && !run.isDone) return;
    this.#runs.delete(run);
    this.#options.laneRows.unreserve(run.lease);
    this.#options.progress.forget(run);
    resolve();
  }
}

/** A job is not failed for a store that is down: it runs again later, and this attempt does not count. */
const reasonOf = (error: unknown): StopReason =>
  error instanceof StoreDownError ? { kind: 'handed-back' } : { kind: 'failed', ...toPlainError(error) };
