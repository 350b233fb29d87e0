import type { WorkerStatus } from './fleet.ts';

export type LaneSpeed = Pick<WorkerStatus['lanes'][number], 'queue' | 'row_steps_per_s'>;

/** Row-steps per second of this group: the mean of the lanes that have measured theirs; undefined without any. */
export function laneSpeed(queue: string, lanes: readonly LaneSpeed[]): number | undefined {
  const measured = lanes.filter((lane) => lane.queue === queue && lane.row_steps_per_s > 0);
  if (measured.length === 0) return undefined;
  return measured.reduce((total, lane) => total + lane.row_steps_per_s, 0) / measured.length;
}
