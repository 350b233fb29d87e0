/**
 * Reports this worker's models, lanes and load to Redis every few seconds; the API reads the reports of all workers. While an
 * API process asks for running samples (GET /v1/activity), it reports every second, and its samples too.
 */
import {
  type Counts,
  forgetWorker,
  type Log,
  type RunningReport,
  reportRunning,
  reportWorker,
  WATCHED_EVERY_MS,
  type WorkerStatus,
} from '@lehr/shared';
import type { Keys, Redis } from '@lehr/shared/redis';

export interface FleetReporterOptions {
  readonly commands: Redis;
  readonly keys: Keys;
  readonly log: Log;
  readonly everyMs: number;
  readonly status: () => WorkerStatus;
  /** Called only while running samples are asked for. */
  readonly running: () => Omit<RunningReport, 'counts'>;
  /** As `running`. */
  readonly counts: () => Promise<Counts>;
}

export class FleetReporter {
  readonly #options: FleetReporterOptions;
  #timer: NodeJS.Timeout | undefined;
  #isWatched = false;
  #isStopped = false;

  constructor(options: FleetReporterOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    await this.report();
    this.#reportLater();
  }

  /** Never rejects: the next report replaces one that failed. */
  async report(): Promise<void> {
    const { commands, keys, log, status, running, counts } = this.#options;
    try {
      const now = status();
      this.#isWatched = await reportWorker(commands, keys, now);
      if (!this.#isWatched) return;
      await reportRunning(commands, keys, now.id, { ...running(), counts: await counts() });
    } catch (error) {
      log.debug({ error }, 'report could not be written');
    }
  }

  /** Removes this worker from the fleet. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    const { commands, keys, status } = this.#options;
    await forgetWorker(commands, keys, status().id).catch(() => {});
  }

  #reportLater(): void {
    if (this.#isStopped) return;
    const { everyMs } = this.#options;
    const delayMs = this.#isWatched ? Math.min(everyMs, WATCHED_EVERY_MS) : everyMs;
    this.#timer = setTimeout(() => void this.report().then(() => this.#reportLater()), delayMs);
  }
}
