/**
 * The jobs of a worker whose input is still being fetched or decoded. They take no rows, so they are limited by tenant, task and class: a
 * tenant with its share of them gets no more such jobs from this worker until one has its input, and other jobs are claimed in their
 * place. By task, because long recordings wait for the memory of their waveforms until others are transcribed.
 */
import { PRIORITY_CLASSES, type PriorityClass, urgencyOf } from '@lehr/shared';
import type { FullTenant } from '@lehr/shared/queue';
import type { JobRecord } from '@lehr/shared/records';

/** Of one tenant, task and class. As many more are claimed at once as a lane has rows. */
export const MOST_OF_TENANT = 8;
/** Of all tenants, in this class and the more urgent ones. Beyond it, each tenant may have one of each task and class. */
export const MOST_OF_ALL = 32;

const urgencyIn = (share: FullTenant): number => urgencyOf(share.split(' ')[1] as PriorityClass);
const sumOf = (shares: readonly (readonly [FullTenant, number])[]): number =>
  shares.reduce((sum, [, jobs]) => sum + jobs, 0);

type JobOfTenant = Pick<JobRecord, 'queue' | 'tenant' | 'priority'>;

/** The name of a queue begins with the task. */
const shareOf = ({ queue, priority, tenant }: JobOfTenant) =>
  `${queue.split('.')[0]} ${priority} ${tenant}` as FullTenant;

export class InputShares {
  readonly #jobs = new Map<FullTenant, number>();
  readonly #onFreed: () => void;

  /** `onFreed` is called when a tenant may have got room for another job. */
  constructor(onFreed: () => void) {
    this.#onFreed = onFreed;
  }

  /** How many jobs wait for their input. */
  get size(): number {
    return sumOf([...this.#jobs]);
  }

  /** The tenants that get no more jobs of a task and class. */
  get full(): readonly FullTenant[] {
    const all = [...this.#jobs];
    const most = PRIORITY_CLASSES.map((_, urgency) =>
      sumOf(all.filter(([share]) => urgencyIn(share) <= urgency)) < MOST_OF_ALL ? MOST_OF_TENANT : 1,
    );
    return all.filter(([share, jobs]) => jobs >= most[urgencyIn(share)]).map(([share]) => share);
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
