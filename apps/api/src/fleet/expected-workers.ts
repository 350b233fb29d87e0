/**
 * When a worker is there for a job that no worker serves yet, and how many workers there may be: from the workers that are starting, and
 * from what starts workers, if something has asked lately how many there should be (GET /v1/scale). A worker with a memory budget counts
 * too that runs and can load the model.
 */
import {
  type Clock,
  limitsAt,
  type Pool,
  type Registry,
  readStarts,
  type Starts,
  startMsOf,
} from '@lehr/shared';
import type { Keys, Redis } from '@lehr/shared/redis';
import { Recent } from '../base/recent.ts';
import { type FleetIndex, fleetIndex } from './fleet-index.ts';
import type { FleetView } from './fleet-view.ts';
import { type StoredScale, StoredScales } from './pool-scaler.ts';
import { lastStartMs, poolOf } from './scale-state.ts';

const TTL_MS = 1_000;
const STALE_MS = 1_000;
/** What starts workers asks every few seconds; when it has not for so long, it is not known whether a worker will come. */
const ASKED_WITHIN_MS = 120_000;
/** A start that takes longer than the last one ends soon, but not at once. */
const LEAST_MS = 1_000;

export interface Expected {
  /** When the first worker serves that is not there yet, ms from now. */
  readonly readyInMs: number;
  /** How long a start takes. */
  readonly startMs: number;
  /** How many workers there may be then. */
  readonly workers: number;
}

export interface ExpectedWorkersOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly pools: readonly Pool[];
  readonly registry: Pick<Registry, 'models'>;
  readonly fleet: Pick<FleetView, 'workers'>;
  readonly clock: Clock;
}

interface Reading {
  readonly starts: Starts;
  readonly scales: ReadonlyMap<string, StoredScale>;
}

export class ExpectedWorkers {
  readonly #options: ExpectedWorkersOptions;
  readonly #reading: Recent<Reading>;

  constructor(options: ExpectedWorkersOptions) {
    const { redis, keys, pools, clock } = options;
    const stored = new StoredScales(redis, keys);
    const read = async (): Promise<Reading> => {
      const [starts, ...scales] = await Promise.all([
        readStarts(redis, keys),
        ...pools.map(async ({ name }) => [name, await stored.read(name)] as const),
      ]);
      return { starts, scales: new Map(scales.flatMap(([name, each]) => (each ? [[name, each]] : []))) };
    };
    this.#options = options;
    this.#reading = new Recent(read, TTL_MS, clock, STALE_MS);
  }

  /** Of a model `name@version`; undefined when no worker is on its way and nothing starts workers. */
  async of(model: string): Promise<Expected | undefined> {
    const { pools, registry, clock, fleet } = this.#options;
    const pool = poolOf(pools, registry, model);
    const reading = await this.#reading.get();
    const started = expectedOf(model, pool, registry, reading, clock.now());
    return sooner(started, loadedSoon(fleetIndex(await fleet.workers()).canLoad(model)));
  }
}

/** Of running workers that can load the model. One that has work may take longer. */
function loadedSoon(models: ReturnType<FleetIndex['canLoad']>): Expected | undefined {
  if (models.length === 0) return undefined;
  const loadMs = Math.max(LEAST_MS, Math.round(Math.min(...models.map(({ load_ms }) => load_ms))));
  return { readyInMs: loadMs, startMs: loadMs, workers: models.length };
}

function sooner(started: Expected | undefined, loaded: Expected | undefined): Expected | undefined {
  if (!started || !loaded) return started ?? loaded;
  return {
    readyInMs: Math.min(started.readyInMs, loaded.readyInMs),
    startMs: Math.max(started.startMs, loaded.startMs),
    workers: started.workers + loaded.workers,
  };
}

function expectedOf(
  model: string,
  pool: Pool | undefined,
  registry: Pick<Registry, 'models'>,
  { starts, scales }: Reading,
  now: number,
): Expected | undefined {
  const coming = starts.starting.filter(({ models }) => models.includes(model));
  const scale = pool && scales.get(pool.name);
  const isScaled = scale !== undefined && now - scale.asked_at < ASKED_WITHIN_MS;
  const most = pool && isScaled ? limitsAt(pool.policy, now).max : 0;
  const workers = Math.max(most, coming.length);
  if (workers === 0) return undefined;
  const measuredMs = pool && lastStartMs(pool, registry, starts);
  const processMs =
    measuredMs ?? starts.coldStarts.get(model)?.total_ms ?? (pool?.policy.start_s ?? 0) * 1000;
  const startMs = pool ? startMsOf({ startMs: measuredMs }, pool.policy) : processMs;
  if (coming.length > 0) {
    const firstMs = Math.min(...coming.map(({ since }) => since)) + processMs - now;
    return { readyInMs: Math.max(LEAST_MS, Math.round(firstMs)), startMs, workers };
  }
  const isAsked = scale !== undefined && scale.memory.desired > 0;
  const readyInMs = isAsked ? Math.max(LEAST_MS, scale.grew_at + startMs - now) : startMs;
  return { readyInMs: Math.round(readyInMs), startMs, workers };
}
