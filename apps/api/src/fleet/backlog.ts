/**
 * How long a new job would wait. Workers serve many groups, so what waits in the others counts as well, by the share of it
 * that falls to the workers of this group.
 */
import type { Clock, PriorityClass, WorkerStatus } from '@lehr/shared';
import { formatModelRef, PRIORITY_CLASSES, parseGroupQueueName } from '@lehr/shared';
import { type GroupLoads, readLoads } from '@lehr/shared/queue';
import type { Keys, Redis } from '@lehr/shared/redis';
import { Recent } from '../recent.ts';
import { type FleetView, serving } from './fleet-view.ts';

const TTL_MS = 1000;

export interface Ahead {
  /** That serve the group. */
  readonly workers: number;
  /** Estimated engine ms of other groups that these workers do before a new job of the class. */
  readonly elsewhereMs: number;
}

/** At most a second old. */
export class Backlog {
  readonly #fleet: FleetView;
  readonly #loads: Recent<GroupLoads>;
  /** Answers from the very reports they were worked out from. */
  readonly #known = new WeakMap<GroupLoads, Map<string, Ahead>>();

  constructor(redis: Redis, keys: Keys, fleet: FleetView, clock: Clock) {
    this.#fleet = fleet;
    this.#loads = new Recent(() => readLoads(redis, keys), TTL_MS, clock);
  }

  /** `model` is `name@version`. */
  async ahead(queue: string, model: string, priority: PriorityClass): Promise<Ahead> {
    const [loads, fleet] = await Promise.all([this.#loads.get(), this.#fleet.workers()]);
    const known = this.#known.get(loads) ?? new Map<string, Ahead>();
    this.#known.set(loads, known);
    const name = `${priority} ${queue}`;
    const ahead = known.get(name) ?? aheadOf(queue, model, priority, fleet, loads);
    known.set(name, ahead);
    return ahead;
  }

  /** Estimated ms that a new job of each class would wait in this group; with one worker when nobody serves it. */
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

/** Pure; see the head of this file. */
export function aheadOf(
  queue: string,
  model: string,
  priority: PriorityClass,
  fleet: readonly WorkerStatus[],
  loads: GroupLoads,
): Ahead {
  const ours = serving(fleet, model);
  let elsewhereMs = 0;
  for (const [other, load] of loads) {
    const waiting = loadOf(load, priority);
    const group = parseGroupQueueName(other);
    if (other === queue || waiting === 0 || !group) continue;
    const theirs = serving(fleet, formatModelRef(group.model));
    const shared = theirs.filter((worker) => ours.includes(worker)).length;
    if (shared > 0) elsewhereMs += (waiting * shared) / theirs.length;
  }
  return { workers: ours.length, elsewhereMs: Math.round(elsewhereMs) };
}

/** What waits in the class and in those before it. */
function loadOf(load: Record<PriorityClass, number> | undefined, priority: PriorityClass): number {
  if (!load) return 0;
  const classes = PRIORITY_CLASSES.slice(0, PRIORITY_CLASSES.indexOf(priority) + 1);
  return classes.reduce((sum, each) => sum + load[each], 0);
}
