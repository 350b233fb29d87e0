/** What each tenant has now: the jobs of the last 24 hours, and what waits, runs and is stored. All of them are read once in five seconds. */
import { type Clock, firstJobIdAt, type TenantId, type TenantUse, type Usage } from '@lehr/shared';
import type { Keys, Redis } from '@lehr/shared/redis';
import { Recent } from '../base/recent.ts';
import type { StorageQuota } from '../jobs/space/storage-quota.ts';

const TTL_MS = 5_000;
const HOUR_MS = 3_600_000;
const HOURS = 24;
const MAX_TENANTS = 50;
/** Replies of each tenant before those of its hours. */
const NOW_REPLIES = 3;

export interface TenantUseParts {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly storage: StorageQuota;
  readonly clock: Clock;
}

type Current = Pick<Usage, 'at' | 'tenants' | 'more_tenants'>;

export class TenantUseView {
  readonly #parts: TenantUseParts;
  readonly #recent: Recent<Current>;

  constructor(parts: TenantUseParts) {
    this.#parts = parts;
    this.#recent = new Recent(() => this.#read(), TTL_MS, parts.clock);
  }

  get(): Promise<Current> {
    return this.#recent.get();
  }

  /** One tenant alone. */
  async of(tenant: TenantId): Promise<Current> {
    const now = this.#parts.clock.now();
    return { at: new Date(now).toISOString(), tenants: [await this.#of(tenant, now)], more_tenants: 0 };
  }

  async #read(): Promise<Current> {
    const { redis, keys, clock } = this.#parts;
    const now = clock.now();
    const all = (await redis.smembers(keys.tenants)) as TenantId[];
    const sizes = redis.pipeline();
    for (const tenant of all) sizes.zcard(keys.jobsOf(tenant));
    const counts = ((await sizes.exec()) ?? []).map(([, count]) => Number(count ?? 0));
    const largest = all
      .map((tenant, i) => ({ tenant, jobs: counts[i] }))
      .sort((a, b) => b.jobs - a.jobs || (a.tenant < b.tenant ? -1 : 1))
      .slice(0, MAX_TENANTS);
    const tenants: TenantUse[] = [];
    // One after the other: the reading shares its connection with requests.
    for (const { tenant } of largest) tenants.push(await this.#of(tenant, now));
    return {
      at: new Date(now).toISOString(),
      tenants,
      more_tenants: all.length - largest.length,
    };
  }

  /** The index of a tenant's jobs is in order of their ids, and so of time. */
  async #of(tenant: TenantId, now: number): Promise<TenantUse> {
    const { redis, keys, storage } = this.#parts;
    const pipeline = redis
      .pipeline()
      .zcard(keys.liveOf(tenant))
      .scard(keys.runningOf(tenant))
      .hgetall(keys.loadOf(tenant));
    for (let hour = HOURS; hour > 0; hour -= 1) {
      const from = firstJobIdAt(now - hour * HOUR_MS);
      // The clock of another API may be ahead of this one.
      const end = hour === 1 ? '+' : `(${firstJobIdAt(now - (hour - 1) * HOUR_MS)}`;
      pipeline.zlexcount(keys.jobsOf(tenant), `[${from}`, end);
    }
    const [replies, { stored_mb }] = await Promise.all([pipeline.exec(), storage.usage(tenant)]);
    const values = (replies ?? []).map(([error, value]) => {
      if (error) throw error;
      return value;
    });
    const [live, running, load] = values as [number, number, Record<string, string>];
    return {
      tenant,
      jobs_by_hour: values.slice(NOW_REPLIES).map(Number),
      waiting: Math.max(0, live - running),
      running,
      waiting_ms: Math.round(Object.values(load).reduce((sum, ms) => sum + Math.max(0, Number(ms)), 0)),
      stored_mb,
    };
  }
}
