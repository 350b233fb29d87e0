/**
 * What Lehr is doing now, as one tenant may see it: the samples and waiting jobs of others have no ids and no owners. Everything is
 * read once a second for all callers of this process, and a tenant's part once for all of its callers.
 */
import {
  type Activity,
  type Clock,
  formatModelRef,
  type Group,
  type Pause,
  parseGroupQueueName,
  type RunningReport,
  readFleet,
  readRunning,
  type TenantId,
  type WorkerStatus,
} from '@lehr/shared';
import {
  type GroupQueues,
  pauseOf,
  readOwnWaiting,
  readPauses,
  readWaitingLines,
  type WaitingLines,
} from '@lehr/shared/queue';
import type { Keys, Redis } from '@lehr/shared/redis';
import { Recent } from '../base/recent.ts';
import { forTenants } from './fleet-view.ts';

const TTL_MS = 1_000;
const MAX_LINES = 32;
const MAX_NEXT = 32;

interface Viewer {
  readonly tenant: TenantId;
  readonly isAdmin: boolean;
}

interface Reading {
  readonly at: number;
  readonly workers: readonly { readonly status: WorkerStatus; readonly running: RunningReport | undefined }[];
  readonly waiting: WaitingLines;
  readonly pauses: readonly Pause[];
  /** Answers already made from it, by viewer. */
  readonly answers: Map<string, Promise<Activity>>;
}

export class ActivityView {
  readonly #redis: Redis;
  readonly #keys: Keys;
  readonly #queues: GroupQueues;
  readonly #clock: Clock;
  readonly #recent: Recent<Reading>;

  constructor(redis: Redis, keys: Keys, queues: GroupQueues, clock: Clock) {
    this.#redis = redis;
    this.#keys = keys;
    this.#queues = queues;
    this.#clock = clock;
    this.#recent = new Recent(() => this.#read(), TTL_MS, clock);
  }

  async for(viewer: Viewer): Promise<Activity> {
    const reading = await this.#recent.get();
    const name = `${viewer.isAdmin} ${viewer.tenant}`;
    const answer = reading.answers.get(name) ?? this.#present(reading, viewer);
    reading.answers.set(name, answer);
    return answer;
  }

  async #read(): Promise<Reading> {
    const [fleet, waiting, pauses] = await Promise.all([
      readFleet(this.#redis, this.#keys),
      readWaitingLines(this.#redis, this.#keys, this.#queues, { maxLines: MAX_LINES, maxNext: MAX_NEXT }),
      readPauses(this.#redis, this.#keys),
    ]);
    const ids = fleet.map(({ id }) => id);
    const running = await readRunning(this.#redis, this.#keys, ids);
    const workers = fleet
      .map((status, i) => ({ status, running: running[i] }))
      .sort((a, b) => (a.status.id < b.status.id ? -1 : 1));
    return { at: this.#clock.now(), workers, waiting, pauses, answers: new Map() };
  }

  async #present({ at, workers, waiting, pauses }: Reading, { tenant, isAdmin }: Viewer): Promise<Activity> {
    const heads = waiting.lines.flatMap(({ next }) => next.map(({ id }) => id));
    const own = await readOwnWaiting(this.#redis, this.#keys, tenant, heads);
    const shown = workers.map((worker) =>
      isAdmin ? worker : { ...worker, status: forTenants(worker.status) },
    );
    return {
      object: 'activity',
      at: new Date(at).toISOString(),
      workers: shown.map(({ status }) => presentWorker(status)),
      lanes: shown.flatMap(({ status, running }) => activityLanes(status, running, tenant)),
      waiting: {
        ms: waiting.ms,
        own_ms: Math.min(own.ms, waiting.ms),
        queues: waiting.lines.flatMap(({ queue, jobs, next }) => {
          const facts = groupFacts(parseGroupQueueName(queue));
          const line = next.map(({ id, priority }) => ({ priority, own: own.ids.has(id) }));
          if (!facts) return [];
          const paused = pauseOf(pauses, facts.model) !== undefined;
          return [{ queue, ...facts, paused, jobs, next: line }];
        }),
        more_queues: waiting.more,
      },
    };
  }
}

function presentWorker(status: WorkerStatus): Activity['workers'][number] {
  const { id, draining, quarantined, audio_problem, last_error, models, unavailable } = status;
  const serving = quarantined === undefined ? 'serving' : 'quarantined';
  const resident = (wanted: string): string[] =>
    (status.residency?.models ?? []).flatMap(({ ref, state }) => (state === wanted ? [ref] : []));
  return {
    id,
    state: draining ? 'draining' : serving,
    devices: [...new Set(models.flatMap(({ providers }) => Object.values(providers)))].sort(),
    models: models.map(({ ref }) => ref),
    loading: resident('loading'),
    can_load: [...resident('known'), ...resident('unloading')],
    unavailable: unavailable.map(({ ref }) => ref),
    problem: quarantined ?? audio_problem ?? unavailable[0]?.reason ?? null,
    last_error: last_error
      ? { at: new Date(last_error.at).toISOString(), message: last_error.message }
      : null,
  };
}

type Lane = Activity['lanes'][number];
type GroupFacts = Pick<Lane, 'task' | 'model' | 'size'>;

/** A worker remembers lanes for as long as it runs; of those without samples only the ones that ran last are shown. */
const MAX_IDLE_LANES = 4;

/** Undefined for a queue that is no group queue. */
function groupFacts(group: Group | undefined): GroupFacts | undefined {
  if (!group) return undefined;
  const size = group.task === 'diffusion' ? { width: group.width, height: group.height } : null;
  return { task: group.task, model: formatModelRef(group.model), size };
}

/** `running` is undefined while the worker has reported no samples: its lanes then have only their count. */
function activityLanes(
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
