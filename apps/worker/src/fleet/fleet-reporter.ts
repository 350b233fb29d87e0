/** Reports this worker's models, lanes and load to Redis every few seconds; the API reads the reports of all workers. */
import { forgetWorker, type Log, reportWorker, type WorkerStatus } from '@lehr/shared';
import type { Keys, Redis } from '@lehr/shared/redis';

export interface FleetReporterOptions {
  readonly commands: Redis;
  readonly keys: Keys;
  readonly log: Log;
  readonly everyMs: number;
  readonly status: () => WorkerStatus;
}

export class FleetReporter {
  readonly #options: FleetReporterOptions;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: FleetReporterOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    await this.report();
    this.#timer = setInterval(() => void this.report(), this.#options.everyMs);
  }

  /** Never rejects: the next report replaces one that failed. */
  async report(): Promise<void> {
    const { commands, keys, log, status } = this.#options;
    try {
      await reportWorker(commands, keys, status());
    } catch (error) {
      log.debug({ error }, 'report could not be written');
    }
  }

  /** Removes this worker from the fleet. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    const { commands, keys, status } = this.#options;
    await forgetWorker(commands, keys, status().id).catch(() => {});
  }
}
