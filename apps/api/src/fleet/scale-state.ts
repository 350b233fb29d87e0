/** What is seen of a pool of workers at a moment. Pure. */
import {
  covers,
  type Pool,
  type PoolState,
  parseGroupQueueName,
  type Registry,
  type Scale,
  type Starts,
  type WorkerStatus,
} from '@lehr/shared';
import type { GroupLoads } from '@lehr/shared/queue';

interface PoolReading {
  readonly registry: Pick<Registry, 'models'>;
  readonly loads: GroupLoads;
  readonly fleet: readonly WorkerStatus[];
  readonly starts: Starts;
  /** Ms since the epoch. */
  readonly atMs: number;
}

interface SeenPool {
  readonly state: PoolState;
  readonly members: Scale['members'];
}

export function seePool(pool: Pool, { registry, loads, fleet, starts, atMs }: PoolReading): SeenPool {
  const inPool = (ref: string): boolean => poolOf([pool], registry, ref) !== undefined;
  // A worker with a memory budget loads the other models when jobs wait for them.
  const workers = fleet.filter(({ models, residency }) =>
    [...models, ...(residency?.models ?? [])].some(({ ref }) => inPool(ref)),
  );
  const live = workers.filter((each) => stateOf(each) === 'live');
  const starting = starts.starting.filter(({ models }) => models.some(inPool));
  return {
    state: {
      atMs,
      waitingMs: waitingIn(pool, loads),
      running: live.reduce((sum, each) => sum + each.jobs, 0),
      busy: live.reduce((sum, each) => sum + busyShare(each), 0),
      live: live.length,
      startMs: lastStartMs(pool, registry, starts),
    },
    members: [
      ...workers.map((each) => ({ id: each.id as string, state: stateOf(each), jobs: each.jobs })),
      ...starting.map(({ id }) => ({ id: id as string, state: 'starting' as const, jobs: 0 })),
    ],
  };
}

/** The slowest of the last starts of the models of the pool; undefined while none was measured. */
export function lastStartMs(
  pool: Pool,
  registry: Pick<Registry, 'models'>,
  { coldStarts }: Starts,
): number | undefined {
  const inPool = (ref: string): boolean => poolOf([pool], registry, ref) !== undefined;
  const times = [...coldStarts].flatMap(([model, { total_ms }]) => (inPool(model) ? [total_ms] : []));
  return times.length > 0 ? Math.max(...times) : undefined;
}

function waitingIn(pool: Pool, loads: GroupLoads): PoolState['waitingMs'] {
  const sum = { interactive: 0, standard: 0, bulk: 0 };
  for (const [queue, load] of loads) {
    const group = parseGroupQueueName(queue);
    if (!group || !covers(pool, group)) continue;
    sum.interactive += load.interactive;
    sum.standard += load.standard;
    sum.bulk += load.bulk;
  }
  return sum;
}

function stateOf({ draining, quarantined }: WorkerStatus): Scale['members'][number]['state'] {
  if (draining) return 'draining';
  return quarantined === undefined ? 'live' : 'quarantined';
}

/** The rows in use of those that fit, over all lanes: they share one device. */
const busyShare = ({ lanes }: WorkerStatus): number =>
  Math.min(
    1,
    lanes.reduce((sum, { rows, row_cap }) => sum + rows / row_cap, 0),
  );

/**
 * The pool whose workers have the model `name@version`; undefined when models.yaml does not have it, or no pool covers it. A model is in at
 * most one of the pools of pools.yaml.
 */
export function poolOf(
  pools: readonly Pool[],
  { models }: Pick<Registry, 'models'>,
  ref: string,
): Pool | undefined {
  const at = ref.indexOf('@');
  const [name, version] = [ref.slice(0, at), ref.slice(at + 1)];
  const entry = models.find((each) => each.name === name);
  if (!entry?.versions.some((each) => each.version === version)) return undefined;
  return pools.find((pool) => covers(pool, { task: entry.task, model: { name, version } }));
}
