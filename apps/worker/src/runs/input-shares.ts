/**
 * The jobs of a worker whose input is still being fetched or decoded. They take no rows, so they are limited by tenant: a tenant with
 * its share of them gets no more jobs from this worker until one has its input, and the jobs of others are claimed in its place.
 */
import type { TenantId } from '@lehr/shared';

/** Of one tenant. As many more are claimed at once as a lane has rows. */
export const MOST_OF_TENANT = 8;
/** Of all tenants. Beyond it, each tenant may have one. */
export const MOST_OF_ALL = 32;

export class InputShares {
  readonly #jobs = new Map<TenantId, number>();
  readonly #onFreed: () => void;

  /** `onFreed` is called when a tenant may have got room for another job. */
  constructor(onFreed: () => void) {
    this.#onFreed = onFreed;
  }

  /** How many jobs wait for their input. */
  get size(): number {
    return [...this.#jobs.values()].reduce((sum, jobs) => sum + jobs, 0);
  }

  /** The tenants that get no more jobs. */
  get full(): readonly TenantId[] {
    const most = this.size < MOST_OF_ALL ? MOST_OF_TENANT : 1;
    return [...this.#jobs].filter(([, jobs]) => jobs >= most).map(([tenant]) => tenant);
  }

  add(tenant: TenantId): void {
    this.#jobs.set(tenant, (this.#jobs.get(tenant) ?? 0) + 1);
  }

  remove(tenant: TenantId): void {
    const left = (this.#jobs.get(tenant) ?? 0) - 1;
    if (left > 0) this.#jobs.set(tenant, left);
    else this.#jobs.delete(tenant);
    this.#onFreed();
  }
}
