/** The lanes of a worker as one tenant may see them. Pure. */
import {
  type Activity,
  formatModelRef,
  type Group,
  parseGroupQueueName,
  type RunningReport,
  type TenantId,
  type WorkerStatus,
} from '@lehr/shared';

type Lane = Activity['lanes'][number];
type GroupFacts = Pick<Lane, 'task' | 'model' | 'size'>;

/** A worker remembers lanes for as long as it runs; of those without samples only the ones that ran last are shown. */
const MAX_IDLE_LANES = 4;

/** Undefined for a queue that is no group queue. */
export function groupFacts(group: Group | undefined): GroupFacts | undefined {
  if (!group) return undefined;
  const size = group.task === 'diffusion' ? { width: group.width, height: group.height } : null;
  return { task: group.task, model: formatModelRef(group.model), size };
}

/** `running` is undefined while the worker has reported no samples: its lanes then have only their count. */
export function activityLanes(
  { id, lanes }: WorkerStatus,
  running: RunningReport | undefined,
  tenant: TenantId,
): Lane[] {
  const isBusy = ({ queue, samples }: WorkerStatus['lanes'][number]): boolean =>
    samples > 0 || running?.samples.some((sample) => sample.queue === queue) === true;
  // The lane that ran last is the last one.
  const idle = lanes.filter((lane) => !isBusy(lane)).slice(-MAX_IDLE_LANES);
  return lanes
    .filter((lane) => isBusy(lane) || idle.includes(lane))
    .sort((a, b) => (a.queue < b.queue ? -1 : 1))
    .flatMap(({ queue, rows, row_cap, samples: count }) => {
      const facts = groupFacts(parseGroupQueueName(queue));
      if (!facts) return [];
      const samples = (running?.samples ?? [])
        .filter((sample) => sample.queue === queue)
        .map((sample) => presentSample(sample, tenant));
      const calls = running?.calls.find((each) => each.queue === queue);
      const more_samples = Math.max(0, count - samples.length);
      return [{ worker: id, queue, ...facts, rows, row_cap, samples, more_samples, ...presentCalls(calls) }];
    });
}

const presentSample = (
  { id, step, steps, job, tenant: owner }: RunningReport['samples'][number],
  tenant: TenantId,
): Lane['samples'][number] => ({ id, step, steps, job: owner === tenant ? job : null });

const presentCalls = (
  calls: RunningReport['calls'][number] | undefined,
): Pick<Lane, 'rows_per_call' | 'calls_per_s'> => ({
  rows_per_call: calls?.rows_per_call ?? null,
  calls_per_s: calls?.calls_per_s ?? 0,
});
