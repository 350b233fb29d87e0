/**
 * Estimates how long a new job would wait. Workers serve many groups, so jobs that wait in other groups count too, by the share
 * of their workers that also serve this group, and so does what runs on the workers of the group, in whatever lane.
 */
import type { Clock, Pause, PriorityClass, WorkerStatus } from '@lehr/shared';
import { formatModelRef, MAX_LANES, PRIORITY_CLASSES, parseGroupQueueName } from '@lehr/shared';
import { type GroupLoads, pauseOf, readLoads } from '@lehr/shared/queue';
import type { Keys, Redis } from '@lehr/shared/redis';
import { Recent } from '../base/recent.ts';
import { fleetIndex } from './fleet-index.ts';
import { type FleetView, serving } from './fleet-view.ts';
import type { PauseStore } from './pause-store.ts';

const TTL_MS = 1000;
/** As for the reports of the fleet. */
const STALE_MS = 1000;

export interface Ahead {
  /** Live workers that serve the group. */
  readonly workers: number;
  /** Estimated engine ms of this class and of more urgent ones that run on these workers, or wait in other groups of them. */
  readonly elsewhereMs: number;
  /** How many groups and lanes these are; ALL_FIRST when the job runs only after them. */
  readonly elsewhereGroups: number;
}

/** No number of groups limits what runs before the job. */
export const ALL_FIRST = Number.MAX_SAFE_INTEGER;

/** Computes the backlog of a group from loads and reports that are at most two seconds old. */
export class Backlog {
  readonly #fleet: FleetView;
  readonly #pauses: Pick<PauseStore, 'recent'>;
  readonly #loads: Recent<GroupLoads>;
  /** Answers already computed, by the loads they were computed from. */
  readonly #computed = new WeakMap<GroupLoads, Map<string, Ahead>>();

  constructor(redis: Redis, keys: Keys, fleet: FleetView, pauses: Pick<PauseStore, 'recent'>, clock: Clock) {
    this.#fleet = fleet;
    this.#pauses = pauses;
    const read = async () => withoutPaused(await readLoads(redis, keys), await pauses.recent());
    this.#loads = new Recent(read, TTL_MS, clock, STALE_MS);
  }

  /** `model` is `name@version`. */
  async ahead(queue: string, model: string, priority: PriorityClass): Promise<Ahead> {
    // One after the other: both are nearly always there, and Promise.all would take longer than all the rest.
    const loads = await this.#loads.get();
    const fleet = await this.#fleet.workers();
    const computed = this.#computed.get(loads) ?? new Map<string, Ahead>();
    this.#computed.set(loads, computed);
    const name = `${priority} ${queue}`;
    const ahead = computed.get(name) ?? aheadOf(queue, model, priority, fleet, loads);
    computed.set(name, ahead);
    return ahead;
  }

  /** The loads of all groups that are not paused. */
  loads(): Promise<GroupLoads> {
    return this.#loads.get();
  }

  /** Whether no job of this model (`name@version`) is claimed; at most two seconds old. */
  async isPaused(model: string): Promise<boolean> {
    return pauseOf(await this.#pauses.recent(), model) !== undefined;
  }

  /** Estimated ms that a new job of each class would wait in this group; as with one worker when no worker serves it. */
  async waits(queue: string, model: string): Promise<Record<PriorityClass, number>> {
    const [loads, fleet] = await Promise.all([this.#loads.get(), this.#fleet.workers()]);
    const workers = Math.max(1, serving(fleet, model).length);
    const wait = (priority: PriorityClass): number => {
      const { elsewhereMs } = aheadOf(queue, model, priority, fleet, loads);
      return Math.ceil((loadOf(loads.get(queue), priority) + elsewhereMs) / workers);
    };
    return { interactive: wait('interactive'), standard: wait('standard'), bulk: wait('bulk') };
  }
}

/** No other job waits for what is paused, and no worker is wanted for it. */
function withoutPaused(loads: GroupLoads, pauses: readonly Pause[]): GroupLoads {
  if (pauses.length === 0) return loads;
  const isClaimed = (queue: string): boolean => {
    const group = parseGroupQueueName(queue);
    return group === undefined || !pauseOf(pauses, formatModelRef(group.model));
  };
  return new Map([...loads].filter(([queue]) => isClaimed(queue)));
}

/** The pure part of `Backlog.ahead`. */
export function aheadOf(
  queue: string,
  model: string,
  priority: PriorityClass,
  fleet: readonly WorkerStatus[],
  loads: GroupLoads,
): Ahead {
  const ownMs = loadOf(loads.get(queue), priority);
  let elsewhereMs = 0;
  let elsewhereGroups = 0;
  for (const [other, { ms, groups }] of waitingByModel(loads)[priority]) {
    const shared = fleetIndex(fleet).servingBoth(model, other);
    if (shared === 0) continue;
    const isOwn = other === model && ownMs > 0;
    elsewhereMs += ((isOwn ? ms - ownMs : ms) * shared) / serving(fleet, other).length;
    elsewhereGroups += isOwn ? groups - 1 : groups;
  }
  const workers = serving(fleet, model);
  const running = workers.flatMap(({ lanes }) => lanes).map((lane) => loadOf(lane.left_ms, priority));
  for (const leftMs of running) {
    elsewhereMs += leftMs;
    if (leftMs > 0) elsewhereGroups += 1;
  }
  if (workers.length > 0 && workers.every((worker) => mustWait(worker, queue, priority)))
    elsewhereGroups = ALL_FIRST;
  return { workers: workers.length, elsewhereMs: Math.round(elsewhereMs), elsewhereGroups };
}

/** Whether a job of the group gets no place in a lane of this worker until others have ended. */
function mustWait({ lanes }: WorkerStatus, queue: string, priority: PriorityClass): boolean {
  const taken = lanes.filter((lane) => loadOf(lane.left_ms, priority) > 0);
  // Bulk jobs pause while others run.
  if (priority === 'bulk' && taken.some((lane) => loadOf(lane.left_ms, 'standard') > 0)) return true;
  const own = taken.find((lane) => lane.queue === queue);
  if (own) return own.rows >= own.row_cap;
  const isPicture = (name: string): boolean => parseGroupQueueName(name)?.task === 'diffusion';
  return isPicture(queue) && taken.filter((lane) => isPicture(lane.queue)).length >= MAX_LANES;
}

/** Of the groups of a model together: engine ms that wait in a class and in the more urgent ones, and in how many groups. */
interface ModelLoad {
  ms: number;
  groups: number;
}
type ModelLoads = Readonly<Record<PriorityClass, ReadonlyMap<string, ModelLoad>>>;

const summed = new WeakMap<GroupLoads, ModelLoads>();

/** Summed once per reading of the loads, because there may be thousands of groups. */
function waitingByModel(loads: GroupLoads): ModelLoads {
  const known = summed.get(loads);
  if (known) return known;
  const sums = {
    interactive: new Map<string, ModelLoad>(),
    standard: new Map<string, ModelLoad>(),
    bulk: new Map<string, ModelLoad>(),
  };
  for (const [queue, load] of loads) {
    const group = parseGroupQueueName(queue);
    if (!group) continue;
    const model = formatModelRef(group.model);
    for (const priority of PRIORITY_CLASSES) {
      const waiting = loadOf(load, priority);
      if (waiting === 0) continue;
      const sum = sums[priority].get(model) ?? { ms: 0, groups: 0 };
      sums[priority].set(model, { ms: sum.ms + waiting, groups: sum.groups + 1 });
    }
  }
  summed.set(loads, sums);
  return sums;
}

/** Engine ms that wait in the class and in the more urgent ones. */
function loadOf(load: Record<PriorityClass, number> | undefined, priority: PriorityClass): number {
  if (!load) return 0;
  const classes = PRIORITY_CLASSES.slice(0, PRIORITY_CLASSES.indexOf(priority) + 1);
  return classes.reduce((sum, each) => sum + load[each], 0);
}
