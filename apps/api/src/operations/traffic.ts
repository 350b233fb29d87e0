/**
 * The traffic of the installation: API processes, queues by model, workers, and receivers of webhooks, with rates, errors and waits.
 * One reading a second serves all callers of this process.
 */
import {
  type Clock,
  type Counts,
  formatModelRef,
  parseGroupQueueName,
  type Registry,
  readFleet,
  readRunning,
  type Traffic,
  type WorkerStatus,
} from '@lehr/shared';
import { type GroupDepth, type GroupQueues, readDepths } from '@lehr/shared/queue';
import type { Keys, Redis } from '@lehr/shared/redis';
import { Recent } from '../base/recent.ts';
import { type StoredRollout, versionShares } from '../rollouts/rollout.ts';
import type { RolloutStore } from '../rollouts/rollout-store.ts';
import type { Deliveries } from '../webhooks/deliveries/deliveries.ts';
import { readApiCounts } from './api-counts.ts';

const TTL_MS = 1_000;
const MAX_MODELS = 64;
const MAX_WORKERS = 64;

interface TrafficParts {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly queues: GroupQueues;
  readonly registry: Registry;
  readonly rollouts: Pick<RolloutStore, 'list'>;
  readonly webhooks: { readonly deliveries: Pick<Deliveries, 'counts'> };
  readonly clock: Clock;
}

export class TrafficView {
  readonly #parts: TrafficParts;
  readonly #recent: Recent<Traffic>;
  readonly #window = new RateWindow();

  constructor(parts: TrafficParts) {
    this.#parts = parts;
    this.#recent = new Recent(() => this.#read(), TTL_MS, parts.clock);
  }

  get(): Promise<Traffic> {
    return this.#recent.get();
  }

  async #read(): Promise<Traffic> {
    const { redis, keys, queues, registry, webhooks, rollouts, clock } = this.#parts;
    const [fleet, depths, apis, { outbox, undelivered }, byModel] = await Promise.all([
      readFleet(redis, keys),
      readDepths(redis, keys, queues),
      readApiCounts(redis, keys, clock),
      webhooks.deliveries.counts(),
      rollouts.list(),
    ]);
    fleet.sort((a, b) => (a.id < b.id ? -1 : 1));
    const shown = fleet.slice(0, MAX_WORKERS);
    const reports = await readRunning(
      redis,
      keys,
      shown.map(({ id }) => id),
    );
    const at = clock.now();
    const counts = new Map<string, Counts>(apis.map(({ id, counts }) => [id, counts]));
    for (const [i, { id }] of shown.entries()) {
      const own = reports[i]?.counts;
      if (own) counts.set(id, own);
    }
    const rates = this.#window.add({ at, counts });
    return {
      object: 'traffic',
      at: new Date(at).toISOString(),
      window_s: rates.windowS,
      apis: apis.map(({ id }) => presentApi(id, rates)),
      models: presentModels(registry, depths, rates, byModel),
      workers: shown.map((status) => presentWorker(status, rates)),
      more_workers: fleet.length - shown.length,
      receivers: {
        pending: outbox + undelivered,
        attempts_per_s: rates.sum('attempts'),
        failed_per_s: rates.sum('failed_attempts'),
        mean_ms: rates.meanMsOfAll('attempts'),
      },
    };
  }
}

const presentApi = (id: string, rates: Rates): Traffic['apis'][number] => ({
  id,
  requests_per_s: rates.of(id, 'requests'),
  refused_per_s: rates.of(id, 'refused'),
  errors_per_s: rates.of(id, 'errors'),
  mean_ms: rates.meanMs(id, 'requests'),
});

type TrafficModel = Traffic['models'][number];

/** Every version of the registry, so that one without jobs is seen too. */
function presentModels(
  registry: Registry,
  depths: readonly GroupDepth[],
  rates: Rates,
  rollouts: ReadonlyMap<string, StoredRollout>,
): Traffic['models'] {
  const sums = new Map<string, Pick<TrafficModel, 'waiting' | 'running' | 'oldest_ms' | 'share'>>();
  for (const entry of registry.models) {
    const shares = versionShares(entry, rollouts.get(entry.name));
    for (const { version } of entry.versions) {
      const share = entry.versions.length > 1 ? (shares.get(version) ?? 0) : null;
      const ref = formatModelRef({ name: entry.name, version });
      sums.set(ref, { waiting: 0, running: 0, oldest_ms: 0, share });
    }
  }
  for (const { queue, waiting, running, oldestAgeMs = 0 } of depths) {
    const group = parseGroupQueueName(queue);
    const sum = group && sums.get(formatModelRef(group.model));
    if (!sum) continue;
    sum.waiting += waiting;
    sum.running += running;
    sum.oldest_ms = Math.max(sum.oldest_ms, Math.round(oldestAgeMs));
  }
  return [...sums].slice(0, MAX_MODELS).map(([model, sum]) => ({
    model,
    ...sum,
    accepted_per_s: rates.sum(`accepted ${model}`),
    refused_per_s: rates.sum(`refused ${model}`),
  }));
}

function presentWorker(
  { id, draining, quarantined, models }: WorkerStatus,
  rates: Rates,
): Traffic['workers'][number] {
  const working = quarantined === undefined ? 'serving' : 'quarantined';
  return {
    id,
    state: draining ? 'draining' : working,
    models: models.slice(0, MAX_MODELS).map(({ ref }) => ({
      model: ref,
      claimed_per_s: rates.of(id, `claimed ${ref}`),
      wait_ms: rates.meanMs(id, 'claimed', ` ${ref}`),
      ended_per_s: rates.of(id, `ended ${ref}`),
      failed_per_s: rates.of(id, `failed ${ref}`),
    })),
    stored_per_s: rates.of(id, 'stored'),
    store_ms: rates.meanMs(id, 'stored'),
  };
}

/** The counters of all processes, by their ids, and when they were read, ms. */
interface CountsReading {
  readonly at: number;
  readonly counts: ReadonlyMap<string, Counts>;
}

const WINDOW_MS = 10_000;
/** With a shorter time, a reading that comes late would change the rates much. */
const MIN_WINDOW_MS = 900;

/** Keeps the readings that later ones are compared with. */
export class RateWindow {
  #readings: readonly CountsReading[] = [];

  /** A reading that follows a pause of more than the window is compared with nothing. */
  add(reading: CountsReading): Rates {
    this.#readings = this.#readings.filter(({ at }) => reading.at - at <= WINDOW_MS);
    const [before] = this.#readings;
    this.#readings = [...this.#readings, reading];
    return new Rates(before && reading.at - before.at >= MIN_WINDOW_MS ? before : undefined, reading);
  }
}

/** Rates from the counters of processes: the differences of the newest reading and one that is up to ten seconds older. Pure. */
class Rates {
  readonly #before: CountsReading | undefined;
  readonly #now: CountsReading;

  constructor(before: CountsReading | undefined, now: CountsReading) {
    this.#before = before;
    this.#now = now;
  }

  /** Null without an older reading. */
  get windowS(): number | null {
    return this.#before ? (this.#now.at - this.#before.at) / 1000 : null;
  }

  /** Per second, of one process; null without an older reading of it. */
  of(id: string, name: string): number | null {
    const grown = this.#grown(id, name);
    return grown === null || this.windowS === null ? null : rounded(grown / this.windowS);
  }

  /** Mean seconds of what a process timed under `name`, as ms; null when it timed nothing. */
  meanMs(id: string, name: string, suffix = ''): number | null {
    return meanMs(this.#grown(id, `${name}_s${suffix}`), this.#grown(id, `${name}${suffix}`));
  }

  /** Per second, of all processes together. */
  sum(name: string): number | null {
    const values = this.#ids.map((id) => this.of(id, name)).filter((value) => value !== null);
    return values.length === 0 ? null : rounded(values.reduce((sum, value) => sum + value, 0));
  }

  meanMsOfAll(name: string): number | null {
    const total = (each: string): number =>
      this.#ids.reduce((sum, id) => sum + (this.#grown(id, each) ?? 0), 0);
    return meanMs(total(`${name}_s`), total(name));
  }

  get #ids(): readonly string[] {
    return [...this.#now.counts.keys()];
  }

  /** A process that started again counts from zero. */
  #grown(id: string, name: string): number | null {
    const before = this.#before?.counts.get(id);
    const now = this.#now.counts.get(id);
    if (!before || !now) return null;
    const [from, to] = [before[name] ?? 0, now[name] ?? 0];
    return to >= from ? to - from : to;
  }
}

const meanMs = (seconds: number | null, count: number | null): number | null =>
  seconds === null || count === null || count === 0 ? null : rounded((1000 * seconds) / count);

const rounded = (value: number): number => Math.round(value * 1000) / 1000;
