/** Gives waiting jobs another priority, in one round trip each (prioritize.lua). */
import { readFileSync } from 'node:fs';
import type { PriorityClass } from '../contracts/job.ts';
import { APPLY_LUA, type JobOutline, type RecordStore } from '../records/index.ts';
import { defineScript, type Keys, type Redis, type Script } from '../redis/index.ts';
import { ADMIT_LUA, toAdmit } from './admission.ts';
import { bullPriority, firstScore } from './score.ts';

const PRIORITIZE_LUA = [
  APPLY_LUA,
  ADMIT_LUA,
  readFileSync(new URL('./prioritize.lua', import.meta.url), 'utf8'),
].join('\n');

export interface PrioritizerOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly records: Pick<RecordStore, 'retentionMs'>;
}

export class Prioritizer {
  readonly #options: PrioritizerOptions;
  readonly #script: Script;

  constructor(options: PrioritizerOptions) {
    this.#options = options;
    this.#script = defineScript(options.redis, 'lehrPrioritize', PRIORITIZE_LUA);
  }

  /** `same`: the job has this priority already; `stale`: it does not wait any more. Not for workflows and their nodes. */
  async change(job: JobOutline, priority: PriorityClass): Promise<'ok' | 'same' | 'stale'> {
    const { keys, records } = this.#options;
    const wanted = [toAdmit({ ...job, priority }, {}), priority, bullPriority(firstScore(priority))];
    const args = [keys.prefix, JSON.stringify(wanted), records.retentionMs];
    return (await this.#script.run([keys.live], args)) as 'ok' | 'same' | 'stale';
  }
}
