/** Measures how long it takes to make a model ready, part by part, for the metrics and for what the API shows of the model. */
import {
  type Clock,
  type JobState,
  type LoadStage,
  type Log,
  type ModelLoad,
  noteModelLoad,
} from '@lehr/shared';
import type { Keys, Redis } from '@lehr/shared/redis';
import type { OpenedModel } from '../../engine/protocol/messages.ts';
import type { JobRun } from '../runs/job-run.ts';

export interface ModelLoadsOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly clock: Clock;
  readonly log: Log;
  readonly observe: (ref: string, stage: LoadStage, ms: number) => void;
}

export class ModelLoads {
  readonly #options: ModelLoadsOptions;
  /** Models that were opened and have not run a job to its end since. */
  readonly #unanswered = new Set<string>();

  constructor(options: ModelLoadsOptions) {
    this.#options = options;
  }

  /** The folder of a model was fetched. */
  pulled(ref: string, ms: number): void {
    this.#note(ref, { pull: this.#now(ms) });
  }

  opened({ ref, openMs = 0, warmUpMs = 0, grownBytes }: OpenedModel): void {
    this.#unanswered.add(ref);
    const open = { ...this.#now(Math.max(0, openMs - warmUpMs)), ...(grownBytes && { bytes: grownBytes }) };
    this.#note(ref, { open, 'warm-up': this.#now(warmUpMs) });
  }

  /** A job ended here. */
  ended({ record, claimedAt }: JobRun, end: JobState | undefined): void {
    if (end !== 'succeeded' || !this.#unanswered.delete(record.model)) return;
    this.#note(record.model, { 'first-answer': this.#now(this.#options.clock.monotonic() - claimedAt) });
  }

  #now(ms: number) {
    return { at: this.#options.clock.now(), ms: Math.round(ms) };
  }

  /** A load that cannot be written is only missing in the answers of the API. */
  #note(ref: string, load: ModelLoad): void {
    const { redis, keys, log, observe } = this.#options;
    for (const [stage, measured] of Object.entries(load)) observe(ref, stage as LoadStage, measured.ms);
    noteModelLoad(redis, keys, ref, load).catch((error: unknown) =>
      log.debug({ error }, 'the load of a model could not be noted'),
    );
  }
}
