/** What this worker reports of its samples while an API process asks for them, and how full the calls of its models are. */
import { createHash } from 'node:crypto';
import { type Clock, MAX_RUNNING_REPORTED, type RunningReport } from '@lehr/shared';
import type { JobRun, SampleRun } from '../runs/job-run.ts';
import type { WorkEvent } from '../supervisor/engine-supervisor.ts';

/** Counts that began earlier are dropped, so that the first report to a watcher shows the present and not the mean of an hour. */
const MAX_AGE_MS = 3_000;

type Calls = RunningReport['calls'];
type Sample = RunningReport['samples'][number];

interface LaneSum {
  calls: number;
  rows: number;
}

/** Counts the calls of each lane's model since the last report, and over MAX_AGE_MS at most. */
export class LaneCalls {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #sums = new Map<string, LaneSum>();
  #since: number;

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
    this.#since = clock.monotonic();
  }

  count(message: WorkEvent): void {
    if (message.type === 'stepped') this.#add(message.lane, 1, message.rows);
    // A call of the decoder writes one token in each row.
    else if (message.type === 'decoder-progress') this.#add(message.lane, message.calls, message.tokens);
    else if (message.type === 'text-progress') this.#add(message.lane, message.runs, message.texts);
    else if (message.type === 'transform-progress') this.#add(message.lane, message.runs, message.tiles);
  }

  /** Of the lanes with calls since the last `take`. Without one in the last MAX_AGE_MS, of a time that is not longer than that. */
  take(): Calls {
    this.#dropOld();
    const seconds = Math.max(1, this.#clock.monotonic() - this.#since) / 1000;
    const calls = [...this.#sums].map(([queue, sum]) => ({
      queue,
      rows_per_call: rounded(sum.rows / sum.calls),
      calls_per_s: rounded(sum.calls / seconds),
    }));
    this.#restart();
    return calls;
  }

  /** `rows` of all of these calls together. */
  #add(lane: string, calls: number, rows: number): void {
    if (calls === 0) return;
    this.#dropOld();
    const sum = this.#sums.get(lane) ?? { calls: 0, rows: 0 };
    this.#sums.set(lane, { calls: sum.calls + calls, rows: sum.rows + rows });
  }

  #dropOld(): void {
    if (this.#clock.monotonic() - this.#since > MAX_AGE_MS) this.#restart();
  }

  #restart(): void {
    this.#sums.clear();
    this.#since = this.#clock.monotonic();
  }
}

/** The samples that the engine has, oldest first. */
export function runningReport(
  samples: readonly { readonly run: JobRun; readonly sample: SampleRun }[],
  calls: Calls,
): Omit<RunningReport, 'counts'> {
  return {
    samples: samples.slice(0, MAX_RUNNING_REPORTED).map(({ run, sample }) => sampleStatus(run, sample)),
    calls,
  };
}

function sampleStatus(run: JobRun, { request, lane, step, steps }: SampleRun): Sample {
  // A window of audio and the texts of a job have no steps: the progress of the job is shown for them.
  const done = steps === undefined ? run.progress : { step, steps };
  return {
    id: createHash('sha256').update(request.id).digest('base64url').slice(0, 12),
    queue: lane ?? request.lane,
    job: run.record.id,
    tenant: run.record.tenant,
    step: done.step,
    steps: done.steps,
  };
}

const rounded = (value: number): number => Math.round(value * 100) / 100;
