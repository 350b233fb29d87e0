/**
 * The jobs this worker has in hand. Hands their samples to the engine, hears what becomes of them, and sees every job to
 * its end, whatever happens on the way: a cancel, a deadline, a lost lease, a dead engine.
 */
import { type Clock, type JobId, type JobState, type Log, toPlainError } from '@lehr/shared';
import type { JobFinisher } from '../delivery/job-finisher.ts';
import type { FromEngine, SampleId, SegmentMessage, ToEngine } from '../engine/protocol.ts';
import type { Previews } from '../fleet/previews.ts';
import type { ProgressWriter } from '../fleet/progress.ts';
import type { Ledger } from '../intake/ledger.ts';
import type { EngineExit } from '../supervisor/engine-process.ts';
import type { JobRun, SampleRun, StopReason } from './job-run.ts';
import { Suspicion } from './suspicion.ts';

export interface RunsOptions {
  readonly ledger: Ledger;
  readonly finisher: JobFinisher;
  readonly progress: ProgressWriter;
  readonly previews: Previews;
  readonly clock: Clock;
  readonly log: Log;
  readonly send: (message: ToEngine) => void;
  /** Rows became free, or a job left: there may be room for another one. */
  readonly onRoom: () => void;
  /** `end` is the end this worker wrote; undefined when it wrote none. */
  readonly onOver: (run: JobRun, end: JobState | undefined) => void;
}

interface Placed {
  readonly run: JobRun;
  readonly sample: SampleRun;
}

export class Runs {
  readonly #options: RunsOptions;
  readonly #runs = new Map<JobId, JobRun>();
  /** Jobs whose end is being written. */
  readonly #ending = new Set<JobRun>();
  readonly #samples = new Map<SampleId, Placed>();
  readonly #suspicion = new Suspicion();
  /** The samples of the last `running` message. */
  #running: readonly SampleId[] = [];

  constructor(options: RunsOptions) {
    this.#options = options;
  }

  /** Jobs in hand, those whose end is being written included. */
  get size(): number {
    return this.#runs.size + this.#ending.size;
  }

  /** Whether the engine owes us the end of a sample. */
  get engineIsBusy(): boolean {
    return this.#samples.size > 0;
  }

  find(id: JobId): JobRun | undefined {
    return this.#runs.get(id);
  }

  all(): readonly JobRun[] {
    return [...this.#runs.values()];
  }

  add(run: JobRun): void {
    this.#runs.set(run.record.id, run);
    void this.#work(run, () => run.begin());
  }

  /** Ends a job early. What the engine still has of it is dropped within a step; then its end is written. */
  stop(run: JobRun, reason: StopReason): void {
    if (this.#runs.get(run.record.id) !== run) return;
    run.stop(reason);
    this.#options.progress.forget(run);
    for (const { request } of run.inEngine) this.#options.send({ type: 'cancel', sample: request.id });
    this.#settle(run);
  }

  hear(message: Exclude<FromEngine, { type: 'ready' | 'open-failed' }>): void {
    switch (message.type) {
      case 'running':
        this.#running = message.samples;
        return;
      case 'row-cap':
        this.#options.ledger.setCap(message.lane, message.rows);
        this.#options.onRoom();
        return;
      case 'last-step':
        if (this.#options.ledger.release(message.sample)) this.#options.onRoom();
        return;
      case 'stepped':
        for (const { id, step } of message.samples) this.#advanced(id, step);
        return;
      case 'preview': {
        const placed = this.#samples.get(message.sample);
        if (placed && !placed.run.stopReason)
          void this.#options.previews.show(placed.run, placed.sample, message);
        return;
      }
      case 'segment':
        this.#heard(message);
        return;
      case 'decoder-progress':
        return;
      case 'finished':
      case 'transcribed':
        this.#left(message.sample, (run, sample) => void this.#work(run, () => run.take(sample, message)));
        return;
      case 'failed':
        this.#left(message.sample, (run) => this.stop(run, { kind: 'failed', ...message.failure }));
        return;
      case 'canceled':
        this.#left(message.sample, () => {});
        return;
    }
  }

  /** The engine died: finds out who may be to blame, gives up the guilty, and forgets what was under way. */
  engineDied(exit: EngineExit): void {
    const running = this.#running.filter((id) => this.#samples.has(id));
    const { guilty } = this.#suspicion.crashed(running, exit.hung ? null : exit.signal);
    this.#running = [];
    this.#options.ledger.clear();
    this.#options.log.error(
      { exit, inTurn: running.length, inHand: this.#samples.size, guilty },
      'engine died',
    );
    const how = exit.hung ? 'hung' : `died (${exit.signal ?? `code ${exit.code}`})`;
    for (const id of guilty) {
      const run = this.#samples.get(id)?.run;
      const message = `The engine ${how} every time it ran this job, at last with nothing else in the batch.`;
      if (run) run.stop({ kind: 'failed', code: 'engine-crashed', message });
    }
    for (const { run, sample } of [...this.#samples.values()]) {
      if (run.stopReason) this.#left(sample.request.id, () => {});
    }
  }

  /** A new engine is ready: hands it everything the old one took along, suspects with fewer batch mates. */
  resubmit(): void {
    for (const run of this.all()) {
      if (!run.stopReason) this.#submit(run, run.inEngine);
      else for (const { request } of run.inEngine) this.#left(request.id, () => {});
    }
  }

  #submit(run: JobRun, samples: readonly SampleRun[]): void {
    const requests = samples.map((sample) => {
      const { id, lane } = sample.request;
      sample.submittedAt = this.#options.clock.monotonic();
      sample.step = 0;
      sample.inEngine = true;
      this.#samples.set(id, { run, sample });
      this.#options.ledger.spend(id, lane, sample.rows);
      return { ...sample.request, maxBatchMates: this.#suspicion.maxBatchMates(id) };
    });
    this.#options.send({ type: 'submit', samples: requests });
  }

  #advanced(id: SampleId, step: number): void {
    const placed = this.#samples.get(id);
    if (!placed) return;
    placed.sample.step = step;
    if (placed.run.stopReason) return;
    this.#options.progress.note(placed.run);
    this.#options.previews.stepped(placed.run);
  }

  #heard(message: SegmentMessage): void {
    const placed = this.#samples.get(message.sample);
    if (!placed || placed.run.stopReason) return;
    placed.run.hear(placed.sample, message);
    this.#options.progress.note(placed.run);
  }

  /** The engine is through with a sample, one way or another. */
  #left(id: SampleId, then: (run: JobRun, sample: SampleRun) => void): void {
    const placed = this.#samples.get(id);
    if (!placed) return;
    this.#samples.delete(id);
    this.#suspicion.forget(id);
    if (this.#options.ledger.release(id)) this.#options.onRoom();
    placed.sample.inEngine = false;
    then(placed.run, placed.sample);
    this.#settle(placed.run);
  }

  /** Something of a job outside the engine; what comes of it goes to the engine, a failure is the job's. */
  async #work(run: JobRun, work: () => Promise<readonly SampleRun[]>): Promise<void> {
    if (run.stopReason) return;
    try {
      const next = await work();
      if (!run.stopReason && next.length > 0) this.#submit(run, next);
      if (!run.stopReason && !run.isDone) this.#options.progress.note(run);
    } catch (error) {
      // Whoever stopped the job aborted this.
      if (!run.stopReason) {
        this.stop(run, { kind: 'failed', ...toPlainError(error) });
      }
    }
    this.#settle(run);
  }

  /** Writes the job's end once nothing of it is with the engine any more. */
  #settle(run: JobRun): void {
    if (!this.#runs.has(run.record.id) || run.inEngine.length > 0) return;
    if (!run.stopReason && !run.isDone) return;
    this.#runs.delete(run.record.id);
    this.#ending.add(run);
    this.#options.progress.forget(run);
    const { finisher, log, onOver } = this.#options;
    void (run.stopReason ? finisher.stop(run, run.stopReason) : finisher.succeed(run))
      .catch((error: unknown) => {
        log.error({ job: run.record.id, error }, 'a job could not be ended; its lease will run out');
        return undefined;
      })
      .then((end) => {
        this.#ending.delete(run);
        onOver(run, end);
      });
  }
}
