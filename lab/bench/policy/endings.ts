/** When the jobs of a run started and ended. */
import type { PolicyJob } from './load.ts';
import { sampleId } from './simulated-engine.ts';

export interface Ended {
  readonly job: PolicyJob;
  readonly startedAt: number;
  readonly endedAt: number;
}

/** Times in ms since the first arrival could happen. */
export class Endings {
  readonly #jobs = new Map<string, PolicyJob>();
  readonly #started = new Map<string, number>();
  readonly #ended = new Map<string, Ended>();

  add(job: PolicyJob): void {
    this.#jobs.set(sampleId(job), job);
  }

  start(samples: readonly string[], at: number): void {
    for (const id of samples) if (!this.#started.has(id)) this.#started.set(id, at);
  }

  end(id: string, endedAt: number): Ended {
    const [job, startedAt] = [this.#jobs.get(id), this.#started.get(id)];
    if (!job || startedAt === undefined) throw new Error(`Job ${id} has not started.`);
    const ended = { job, startedAt, endedAt };
    this.#ended.set(id, ended);
    return ended;
  }

  /** Throws when a job has not ended. */
  all(): Ended[] {
    const missing = [...this.#jobs.keys()].filter((id) => !this.#ended.has(id));
    if (missing.length > 0) throw new Error(`Not ended: ${missing.join(', ')}.`);
    return [...this.#ended.values()];
  }
}
