import type { Task, WorkerId, WorkerStatus } from '@lehr/shared';
import type { OpenedModel } from '../engine/protocol.ts';
import type { Ledger } from '../intake/ledger.ts';
import type { LaneSpeeds } from './speeds.ts';

export interface StatusParts {
  readonly id: WorkerId;
  readonly tasks: readonly Task[];
  /** Unix ms. */
  readonly startedAt: number;
  readonly draining: boolean;
  readonly models: readonly OpenedModel[];
  readonly ledger: Ledger;
  readonly speeds: LaneSpeeds;
}

/** What the worker reports of itself to the fleet. */
export function workerStatus(parts: StatusParts): WorkerStatus {
  const { id, tasks, startedAt, draining, models, ledger, speeds } = parts;
  return {
    id,
    started_at: startedAt,
    tasks: [...tasks],
    draining,
    models: models.map(({ ref, batching, graphs }) => ({
      ref,
      batching,
      providers: Object.fromEntries(graphs.map(({ graph, provider }) => [graph, provider])),
    })),
    lanes: speeds.lanes.map(({ lane, rowStepsPerS }) => ({
      queue: lane,
      row_cap: ledger.cap(lane),
      ...ledger.usage(lane),
      row_steps_per_s: rowStepsPerS,
    })),
  };
}
