/** Reports that this worker starts, until it serves, and then how long each part of its start took. */
import {
  type ColdStart,
  endStarting,
  type Log,
  reportStarting,
  type START_STAGES,
  type StartingWorker,
} from '@lehr/shared';
import type { Keys, Redis } from '@lehr/shared/redis';

type Stage = (typeof START_STAGES)[number];

const EVERY_MS = 2_000;

export interface StartReportOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly log: Log;
  readonly worker: StartingWorker;
}

/** Never rejects: a worker starts also when its reports cannot be written. */
export class StartReport {
  readonly #options: StartReportOptions;
  readonly #stages = new Map<Stage, number>();
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;

  constructor(options: StartReportOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const { redis, keys, log, worker } = this.#options;
    await reportStarting(redis, keys, worker).catch((error: unknown) =>
      log.debug({ error }, 'the start could not be reported'),
    );
    if (!this.#isOver) this.#timer = setTimeout(() => void this.start(), EVERY_MS);
  }

  /** This part of the start has ended, so many ms after the begin of the process. */
  ended(stage: Stage, sinceBeginMs: number): void {
    const earlier = [...this.#stages.values()].reduce((sum, ms) => sum + ms, 0);
    this.#stages.set(stage, Math.max(0, Math.round(sinceBeginMs - earlier)));
  }

  /** The worker serves. */
  async served(now: number): Promise<ColdStart> {
    this.#isOver = true;
    clearTimeout(this.#timer);
    const { redis, keys, log, worker } = this.#options;
    const stages_ms = Object.fromEntries(this.#stages);
    const total_ms = Object.values(stages_ms).reduce((sum, ms) => sum + ms, 0);
    const coldStart = { at: now, total_ms, stages_ms };
    await endStarting(redis, keys, worker, coldStart).catch((error: unknown) =>
      log.debug({ error }, 'the start could not be reported'),
    );
    return coldStart;
  }
}
