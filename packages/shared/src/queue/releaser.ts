/** Puts scheduled jobs into their queues when their time has come, in one round trip each (release.lua). */
import { readFileSync } from 'node:fs';
import type { JobId } from '../base/ids.ts';
import { APPLY_LUA, type JobOutline, type RecordStore } from '../records/index.ts';
import { defineScript, type Keys, type Redis, type Script } from '../redis/index.ts';
import { ADMIT_LUA, toAdmit } from './admission.ts';
import { asFunction, BULL_ADD_LUA, KEPT_LUA } from './bull-scripts.ts';
import { PLACE_LUA, queuedData } from './group-queue.ts';
import type { GroupQueues } from './group-queues.ts';
import { bullPriority, firstScore } from './score.ts';
import type { WorkflowRunner } from './workflow-runner.ts';

const RELEASE_LUA = [
  KEPT_LUA,
  APPLY_LUA,
  ADMIT_LUA,
  BULL_ADD_LUA,
  asFunction('place', PLACE_LUA),
  readFileSync(new URL('./release.lua', import.meta.url), 'utf8'),
].join('\n');

export interface ReleaserOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly queues: GroupQueues;
  readonly records: RecordStore;
  readonly workflows: Pick<WorkflowRunner, 'advance'>;
}

export class Releaser {
  readonly #options: ReleaserOptions;
  readonly #script: Script;

  constructor(options: ReleaserOptions) {
    this.#options = options;
    this.#script = defineScript(options.redis, 'lehrRelease', RELEASE_LUA);
  }

  /**
   * Releases these jobs, and returns those that entered their queues. Safe to repeat and to run concurrently: a job that is not scheduled
   * any more is left as it is. A record that cannot be read is left for a process that can.
   */
  async release(ids: readonly JobId[]): Promise<JobId[]> {
    const { redis, keys, records, workflows } = this.#options;
    const { records: found, missing } = await records.outlines(ids);
    if (missing.length > 0) await redis.zrem(keys.scheduledJobs, ...missing);
    const jobs = found.filter((record) => record !== undefined);
    // Sent together, and so in the order in which they were due.
    const codes = await Promise.all(jobs.map((job) => this.#releaseOne(job)));
    const released = jobs.filter((_, i) => codes[i] === 'ok');
    // After a crash here the janitor advances them.
    for (const { id, workflow } of released) if (workflow) await workflows.advance(id);
    return released.map(({ id }) => id);
  }

  async #releaseOne(job: JobOutline): Promise<unknown> {
    const { keys, queues, records } = this.#options;
    const { waitingKey } = queues.of(job.queue);
    const entry = job.workflow
      ? []
      : [{ priority: bullPriority(firstScore(job.priority)), data: queuedData(job), type: job.type }];
    return this.#script.run(
      [keys.live, ...(waitingKey === undefined ? [] : [waitingKey])],
      [keys.prefix, JSON.stringify([toAdmit(job, {}), ...entry]), records.kept],
    );
  }
}
