/** The engine side of a simulated worker: jobs take rows of a lane for a while, and nothing is computed. */

import type { StopReason } from '../../apps/worker/src/parent/delivery/attempt.ts';
import { JobRun } from '../../apps/worker/src/parent/runs/job-run.ts';
import type { JobRunner } from '../../apps/worker/src/parent/runs/job-runner.ts';
import { LaneRows, type Room } from '../../apps/worker/src/parent/runs/lane-rows.ts';
import { type Progress, systemClock } from '../../packages/shared/src/index.ts';
import type { Claim } from '../../packages/shared/src/queue/index.ts';
import type { JobRecord, Move } from '../../packages/shared/src/records/index.ts';

export interface DeviceOptions {
  /** Rows of each lane. */
  readonly rows: number;
  /** Mean time of a job; each takes between half and one and a half of it. */
  readonly jobMs: number;
  readonly onRun: (record: JobRecord) => void;
}

class SimulatedRun extends JobRun {
  readonly samples = [];
  readonly isDone = true;
  readonly firstRows = 1;
  readonly progress: Progress = { fraction: 1, stage: 'denoise', step: 20, steps: 20 };
  begin = async (): Promise<readonly []> => [];
  addResult = async (): Promise<readonly []> => [];
  successFields(worker: string): Move['fields'] {
    const key = this.outputKey('0.png');
    const [side, seed] = [512, 1];
    const image = { key, content_type: 'image/png', width: side, height: side, bytes: 345_678, seed };
    return {
      output: { images: [{ ...image, sha256: 'a'.repeat(64) }] },
      metrics: { queue_ms: this.queuedMs, run_ms: 1, total_ms: this.queuedMs + 1, batch_size: 1, worker },
    };
  }
}

export class SimulatedDevice implements JobRunner {
  readonly isUp = true;
  readonly fullTenants = [];
  readonly #options: DeviceOptions;
  readonly #rows: LaneRows;
  /** Called when there is room for another job. */
  onRoom: () => void = () => {};

  constructor(options: DeviceOptions) {
    this.#options = options;
    this.#rows = new LaneRows({ firstCap: () => options.rows, usualRows: () => 1 }, () => this.onRoom());
  }

  serves(): boolean {
    return true;
  }

  room(group: string): Room {
    return this.#rows.room(group);
  }

  usualJobs(group: string, rows: number): number {
    return this.#rows.usualJobs(group, rows);
  }

  newRun(claim: Claim, record: JobRecord, claimedAt: number): JobRun {
    return new SimulatedRun(claim, record, claimedAt);
  }

  async run(run: JobRun): Promise<void> {
    this.#options.onRun(run.record);
    this.#rows.reserve(run.lease, run.claim.queue, run.firstRows);
    await systemClock.sleep(this.#options.jobMs * (0.5 + Math.random()), run.signal);
    this.#rows.unreserve(run.lease);
    this.onRoom();
  }

  stop(run: JobRun, reason: StopReason): void {
    run.stop(reason);
  }

  ended(): void {}

  restartEngine(): void {}
}
