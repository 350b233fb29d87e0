/** What the callers saw while faults were injected: every submission with its answer, and every job that was read. */
import type { Job } from '../../packages/shared/src/index.ts';

export interface Submission {
  /** The Idempotency-Key: one intended job, however often it is posted. */
  readonly key: string;
  /** By the clock of this machine, which Redis shares. */
  readonly at: number;
  /** How long the answer took. */
  readonly ms: number;
  /** `unknown`: there was no answer, so the job may exist. */
  readonly result: 'accepted' | 'refused' | 'unknown';
  readonly status?: number;
  readonly id?: string;
  readonly hasWebhook: boolean;
}

export interface Sighting {
  readonly at: number;
  /** A webhook is dated when it is judged, not when it was sent. */
  readonly via: 'answer' | 'webhook';
  readonly job: Job;
}

export const isEnded = ({ status }: Pick<Job, 'status'>): boolean =>
  status !== 'scheduled' && status !== 'queued' && status !== 'running';

export class History {
  readonly submissions: Submission[] = [];
  readonly sightings: Sighting[] = [];
  /** Ids of jobs that their callers deleted. */
  readonly deleted = new Set<string>();
  /** When a fault began and ended, in the words of the test. */
  readonly faults: { readonly at: number; readonly what: string }[] = [];

  submitted(submission: Submission): void {
    this.submissions.push(submission);
  }

  saw(job: Job, via: Sighting['via']): void {
    this.sightings.push({ at: Date.now(), via, job });
  }

  /** Notes what happens now and returns the time. */
  fault(what: string): number {
    const at = Date.now();
    this.faults.push({ at, what });
    return at;
  }

  /** Ids of all jobs that were answered 202, each once. */
  get accepted(): string[] {
    return [...new Set(this.submissions.flatMap(({ id }) => (id === undefined ? [] : [id])))];
  }

  /** The last sighting of each job that was seen in its end. */
  get ends(): Job[] {
    const byId = new Map<string, Job>();
    for (const { job } of this.sightings) if (isEnded(job)) byId.set(job.id, job);
    return [...byId.values()];
  }

  /** Ms from `at` until the next job succeeded; undefined when none did. */
  recoveryMs(at: number): number | undefined {
    const later = this.ends.flatMap(({ status, finished_at }) => {
      const ms = status === 'succeeded' && finished_at !== null ? Date.parse(finished_at) - at : -1;
      return ms >= 0 ? [ms] : [];
    });
    return later.length > 0 ? Math.min(...later) : undefined;
  }

  /** The longest time that a submission took to be answered, of those that began in an interval. */
  slowestAnswerMs(from: number, to: number): number {
    return Math.max(0, ...this.submissions.flatMap(({ at, ms }) => (at >= from && at <= to ? [ms] : [])));
  }
}
