/** Keeps an engine running: starts it, tells of its death, starts the next one with a growing pause between failures. */
import { type Clock, LehrError, type Log } from '@lehr/shared';
import type { FromEngine, OpenedModel, ToEngine } from '../engine/protocol.ts';
import { type EngineExit, type EngineOptions, type EngineProcess, startEngine } from './engine-process.ts';

export interface SupervisorOptions {
  readonly engine: EngineOptions;
  readonly clock: Clock;
  readonly log: Log;
  readonly onMessage: (message: FromEngine) => void;
  readonly onDied: (exit: EngineExit) => void;
  /** A new engine is ready after one died. */
  readonly onBack: () => void;
  /** It cannot be brought back; the worker should hand its jobs back and leave. */
  readonly onHopeless: (error: LehrError) => void;
  readonly isBusy: () => boolean;
}

/** Failed starts in a row before giving up. */
const MAX_FAILED_STARTS = 5;
const MAX_PAUSE_MS = 30_000;
/** An engine that ran this long was healthy; the next restart is immediate again. */
const HEALTHY_MS = 60_000;

export class EngineSupervisor {
  readonly #options: SupervisorOptions;
  readonly #stopping = new AbortController();
  #engine: EngineProcess | undefined;
  #startedAt = 0;
  #quickDeaths = 0;
  #restarts = 0;

  constructor(options: SupervisorOptions) {
    this.#options = options;
  }

  get isUp(): boolean {
    return this.#engine !== undefined;
  }

  get pid(): number | undefined {
    return this.#engine?.pid;
  }

  get restarts(): number {
    return this.#restarts;
  }

  get models(): readonly OpenedModel[] {
    return this.#engine?.models ?? [];
  }

  /** The first start; rejects with the reason when the models cannot be opened. */
  async start(): Promise<void> {
    const { engine, onMessage, isBusy, clock } = this.#options;
    this.#engine = await startEngine(engine, { onMessage, isBusy, onExit: (exit) => void this.#died(exit) });
    this.#startedAt = clock.monotonic();
  }

  /** Messages to an engine that is down are dropped: it gets its samples anew when it is back. */
  send(message: ToEngine): void {
    this.#engine?.send(message);
  }

  async close(graceMs: number): Promise<void> {
    this.#stopping.abort();
    await this.#engine?.close(graceMs);
  }

  async #died(exit: EngineExit): Promise<void> {
    const { clock, log, onDied, onBack, onHopeless } = this.#options;
    this.#engine = undefined;
    onDied(exit);
    this.#quickDeaths = clock.monotonic() - this.#startedAt < HEALTHY_MS ? this.#quickDeaths + 1 : 0;
    // The first restarts are immediate: most crashes are one bad job, and halving the batch that it was in takes a few.
    let pauseMs = this.#quickDeaths > MAX_FAILED_STARTS ? 1000 : 0;
    for (let failed = 0; !this.#stopping.signal.aborted; ) {
      await clock.sleep(pauseMs, this.#stopping.signal);
      if (this.#stopping.signal.aborted) return;
      try {
        await this.start();
        this.#restarts += 1;
        log.info({ engine: this.pid, restarts: this.#restarts }, 'engine is back');
        onBack();
        return;
      } catch (error) {
        failed += 1;
        pauseMs = Math.min(500 * 2 ** failed, MAX_PAUSE_MS);
        log.error({ error, failed, retryInMs: pauseMs }, 'engine could not be restarted');
        if (failed < MAX_FAILED_STARTS) continue;
        onHopeless(new LehrError('engine-failed', 'The engine could not be restarted', { cause: error }));
        return;
      }
    }
  }
}
