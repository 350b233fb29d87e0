/**
 * The jobs of a worker whose input is still being fetched or decoded. They take no rows, so they are limited by tenant and task: a tenant
 * with its share of them gets no more jobs of the task from this worker until one has its input, and other jobs are claimed in their
 * place. By task, because long recordings wait for the memory of their waveforms until others are transcribed.
 */
import type { FullTenant } from '@lehr/shared/queue';
import type { JobRecord } from '@lehr/shared/records';

/** Of one tenant and task. As many more are claimed at once as a lane has rows. */
export const MOST_OF_TENANT = 8;
/** Of all tenants. Beyond it, each tenant may have one of each task. */
export const MOST_OF_ALL = 32;

type JobOfTenant = Pick<JobRecord, 'queue' | 'tenant'>;

/** The name of a queue begins with the task. */
const shareOf = ({ queue, tenant }: JobOfTenant) => `${queue.split('.')[0]} ${tenant}` as FullTenant;

export class InputShares {
  readonly #jobs = new Map<FullTenant, number>();
  readonly #onFreed: () => void;

  /** `onFreed` is called when a tenant may have got room for another job. */
  constructor(onFreed: () => void) {
    this.#onFreed = onFreed;
  }

  /** How many jobs wait for their input. */
  get size(): number {
    return [...this.#jobs.values()].reduce((sum, jobs) => sum + jobs, 0);
  }

  /** The tenants that get no more jobs of a task. */
  get full(): readonly FullTenant[] {
    const most = this.size < MOST_OF_ALL ? MOST_OF_TENANT : 1;
    return [...this.#jobs].filter(([, jobs]) => jobs >= most).map(([share]) => share);
  }

  add(job: JobOfTenant): void {
    const share = shareOf(job);
    this.#jobs.set(share, (this.#jobs.get(share) ?? 0) + 1);
  }

  remove(job: JobOfTenant): void {
    const share = shareOf(job);
    const left = (this.#jobs.get(share) ?? 0) - 1;
    if (left > 0) this.#jobs.set(share, left);
    else this.#jobs.delete(share);
    this.#onFreed();
  }
}
