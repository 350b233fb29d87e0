/** What callers see of jobs while they run: progress, previews and partial texts. A write of it also says when a job must be stopped. */
import type { Log } from '@lehr/shared';
import type { Outcome, RecordStore } from '@lehr/shared/records';
import type { ToEngine } from '../../engine/protocol/messages.ts';
import type { StopReason } from '../delivery/attempt.ts';
import type { JobRun } from '../runs/job-run.ts';
import type { TextPart } from '../runs/transcript-builder.ts';
import type { WorkerParts } from '../runs/worker-parts.ts';
import { Previews } from './previews.ts';
import { ProgressWriter } from './progress.ts';

type StopRun = (run: JobRun, reason: StopReason) => void;

export class ShownJobs {
  readonly progress: ProgressWriter;
  readonly previews: Previews;
  readonly #records: RecordStore;
  readonly #log: Log;

  constructor(parts: WorkerParts, send: (message: ToEngine) => void) {
    const { commands: redis, keys, records, clock, log, times } = parts;
    this.progress = new ProgressWriter({
      ...parts,
      redis,
      followedEveryMs: times.progressEveryMs,
      unfollowedEveryMs: times.unfollowedProgressEveryMs,
      checkEveryMs: times.followCheckEveryMs,
    });
    this.previews = new Previews({ redis, keys, clock, log, send });
    this.#records = records;
    this.#log = log;
  }

  start(stopRun: StopRun): void {
    this.progress.start((run, outcome) => this.#written(run, outcome, stopRun));
  }

  stop(): void {
    this.progress.stop();
  }

  /** Whether somebody follows the job, and whether somebody watches its pictures, as the last move or write of it said. */
  follow(run: JobRun, { followed, watched }: Pick<Outcome, 'followed' | 'watched'>): void {
    this.progress.follow(run, followed);
    this.previews.follow(run, watched);
  }

  /** Writes a part of a transcript to the event stream of its job. A failed write is not retried: the whole text follows with the end. */
  showText({ record: { id }, lease }: JobRun, { text, offset }: TextPart): void {
    this.#records
      .apply([{ move: 'output', id, lease, data: { text, offset } }])
      .catch((error: unknown) => this.#log.debug({ job: id, error }, 'partial text could not be written'));
  }

  /** A progress write also reports a cancel whose announcement was missed, and a job that has moved to another lease. */
  #written(run: JobRun, outcome: Outcome, stopRun: StopRun): void {
    const { code, cancelRequested } = outcome;
    this.follow(run, outcome);
    if (code === 'stale' || code === 'ended' || code === 'missing') stopRun(run, { kind: 'lost' });
    else if (cancelRequested) stopRun(run, { kind: 'canceled' });
  }
}
