/**
 * What the jobs of each tenant cost, as metrics with a bounded number of series: a few tenants by name, all others as one. A tenant
 * whose jobs cost more than those of a named one takes its place; what it cost before stays with the others, so every series only rises.
 */
import { type Clock, type Metrics, RecentlyUsed } from '@lehr/shared';
import type { JobRecord } from '@lehr/shared/records';

/** No tenant has this name: theirs start with a letter or a digit. */
const OTHERS = '_others';
/** Older cost counts less: half after this time. */
const HALF_LIFE_MS = 3_600_000;
/** How much more than a named tenant another one must have cost, so that two equal ones do not take turns. */
const LEAD = 1.25;
const MAX_REMEMBERED = 1_000;

export interface TenantUsageOptions {
  readonly metrics: Pick<Metrics<'api'>, 'tenantCost' | 'tenantJobs'>;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly maxNamed: number;
}

/** Engine ms, of which older ones count less. */
interface Recent {
  ms: number;
  at: number;
}

export class TenantUsage {
  readonly #options: TenantUsageOptions;
  readonly #named = new Map<string, Recent>();
  readonly #unnamed = new RecentlyUsed<string, Recent>(MAX_REMEMBERED);

  constructor(options: TenantUsageOptions) {
    this.#options = options;
  }

  count({ tenant, cost }: Pick<JobRecord, 'tenant' | 'cost'>): void {
    const { metrics } = this.#options;
    const labels = { tenant: this.#nameOf(tenant, cost) };
    metrics.tenantCost.inc(labels, cost / 1000);
    metrics.tenantJobs.inc(labels);
  }

  #nameOf(tenant: string, cost: number): string {
    const { maxNamed } = this.#options;
    if (maxNamed === 0) return OTHERS;
    const use = this.#named.get(tenant) ?? this.#unnamed.get(tenant) ?? { ms: 0, at: this.#now };
    use.ms = this.#presentMs(use) + cost;
    use.at = this.#now;
    if (this.#named.has(tenant)) return tenant;
    if (this.#named.size >= maxNamed && !this.#takesAPlace(use)) {
      this.#unnamed.set(tenant, use);
      return OTHERS;
    }
    this.#unnamed.delete(tenant);
    this.#named.set(tenant, use);
    return tenant;
  }

  /** Whether the named tenant that cost the least has made room. */
  #takesAPlace({ ms }: Recent): boolean {
    const { metrics } = this.#options;
    let least: [tenant: string, use: Recent] | undefined;
    for (const entry of this.#named) {
      if (!least || this.#presentMs(entry[1]) < this.#presentMs(least[1])) least = entry;
    }
    if (!least || ms <= LEAD * this.#presentMs(least[1])) return false;
    const [tenant, use] = least;
    this.#named.delete(tenant);
    this.#unnamed.set(tenant, use);
    metrics.tenantCost.remove({ tenant });
    metrics.tenantJobs.remove({ tenant });
    return true;
  }

  #presentMs({ ms, at }: Recent): number {
    return ms * 2 ** ((at - this.#now) / HALF_LIFE_MS);
  }

  get #now(): number {
    return this.#options.clock.monotonic();
  }
}
