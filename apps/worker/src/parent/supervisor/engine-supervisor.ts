/** Keeps an engine running: starts it, and after each death starts the next one, with a backoff when deaths follow quickly. */
import { backoffMs, type Clock, LehrError, type Log } from '@lehr/shared';
import type { ModelToOpen, OpenedModel, ToEngine, UnavailableModel } from '../../engine/protocol/messages.ts';
import { EngineModels } from './engine-models.ts';
import {
  type EngineEvent,
  type EngineExit,
  type EngineOptions,
  type EngineProcess,
  startEngine,
} from './engine-process.ts';

export interface SupervisorOptions {
  readonly engine: EngineOptions;
  /** Whether models are opened and closed by `load` and `unload` only, because there is a memory budget. */
  readonly isLimited?: boolean;
  readonly clock: Clock;
  readonly log: Log;
}

/** What an engine reports of its work. */
export type WorkEvent = Exclude<EngineEvent, { type: 'model-opened' | 'model-unavailable' | 'model-closed' }>;

export interface SupervisorListener {
  onMessage(message: WorkEvent): void;
  onDied(exit: EngineExit): void;
  /** A new engine is ready after one died. */
  onRestarted(): void;
  /** A model that was not open before is open now. */
  onModelOpened(model: OpenedModel): void;
  /** A model was tried again, and still cannot be opened. */
  onModelUnavailable(model: UnavailableModel): void;
  /** The engine cannot be restarted; no further start is tried. */
  onGivenUp(error: LehrError): void;
  /** Whether the engine has work. */
  isBusy(): boolean;
  /** Whether a job uses this model (`name@version`), now or later. */
  usesModel(ref: string): boolean;
  /** How long the engine may be silent at what it does now, in ms. */
  silenceMs(): number;
}

/** Failed starts in a row after which the supervisor gives up. */
const MAX_FAILED_STARTS = 5;
const PAUSES = { firstMs: 1_000, maxMs: 30_000 };
/** An engine that ran this long was healthy; the restart after it is immediate. */
const HEALTHY_MS = 60_000;

const PART_CHANGED =
  'an adapter of an open model has changed; the model gets no more jobs and is opened again when its jobs have ended';
const WRITTEN_IN_PLACE =
  'a file of an open model was written in place; the model gets no more jobs and is opened again when its jobs have ended';

export class EngineSupervisor {
  readonly models: EngineModels;
  readonly #options: SupervisorOptions;
  readonly #stopping = new AbortController();
  #stopWatch: (() => Promise<void>) | undefined;
  #engine: EngineProcess | undefined;
  #startedAt = 0;
  #quickDeaths = 0;
  #restarts = 0;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    const { engine, clock, log, isLimited = false } = options;
    const open = (model: ModelToOpen): void => this.send({ type: 'open-model', model });
    const close = (ref: string): void => this.send({ type: 'close-model', ref });
    const onWritten = (model: string, path: string): void => log.error({ model, path }, WRITTEN_IN_PLACE);
    const onPartChanged = (model: string, path: string): void => log.info({ model, path }, PART_CHANGED);
    this.models = new EngineModels({
      models: engine.models,
      clock,
      log,
      open,
      close,
      onWritten,
      onPartChanged,
      isLimited,
    });
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

  /** Rejects with the reason when no model can be opened. */
  async start(listener: SupervisorListener): Promise<void> {
    await this.#start(listener);
    this.#stopWatch = this.models.watch(listener.usesModel);
  }

  async #start(listener: SupervisorListener): Promise<void> {
    const { engine, clock, isLimited = false } = this.#options;
    const prepared = await this.models.prepare();
    const models = prepared.map(({ model }) => model);
    this.#engine = await startEngine(
      // With a memory budget only a few of the models are open: others can take the place of one whose files were damaged.
      { ...engine, models, mayBeEmpty: isLimited },
      {
        onMessage: (message) => this.#receive(message, listener),
        isBusy: listener.isBusy,
        silenceMs: listener.silenceMs,
        onExit: (exit) => void this.#restart(exit, listener),
      },
    );
    this.models.reset(this.#engine.opened, prepared);
    this.#startedAt = clock.monotonic();
  }

  /** Messages to a dead engine are dropped: the next one gets all samples again. */
  send(message: ToEngine): void {
    this.#engine?.send(message);
  }

  /** Replaces the engine by a new one. The engine is down from now on, until `onRestarted`. */
  restart(): void {
    const engine = this.#engine;
    this.#engine = undefined;
    engine?.kill();
  }

  async close(graceMs: number): Promise<void> {
    this.#stopping.abort();
    await Promise.all([this.#stopWatch?.(), this.#engine?.close(graceMs)]);
  }

  #receive(message: EngineEvent, listener: SupervisorListener): void {
    switch (message.type) {
      case 'model-opened':
        this.models.add(message.model);
        listener.onModelOpened(message.model);
        return;
      case 'model-unavailable':
        this.models.markUnavailable(message);
        listener.onModelUnavailable(message);
        return;
      case 'model-closed':
        this.#options.log.info({ model: message.ref, freedBytes: message.freedBytes }, 'model closed');
        return;
      default:
        listener.onMessage(message);
    }
  }

  async #restart(exit: EngineExit, listener: SupervisorListener): Promise<void> {
    const { clock, log } = this.#options;
    this.#engine = undefined;
    const wasOpening = this.models.isOpening;
    this.models.reset();
    listener.onDied({ ...exit, ...(wasOpening && { wasOpening }) });
    this.#quickDeaths = clock.monotonic() - this.#startedAt < HEALTHY_MS ? this.#quickDeaths + 1 : 0;
    // The first restarts are immediate: most crashes come from one bad job, and halving its batch takes a few of them.
    let pauseMs = this.#quickDeaths > MAX_FAILED_STARTS ? PAUSES.firstMs : 0;
    for (let failed = 0; !this.#stopping.signal.aborted; ) {
      await clock.sleep(pauseMs, this.#stopping.signal);
      if (this.#stopping.signal.aborted) return;
      try {
        await this.#start(listener);
        this.#restarts += 1;
        log.info({ engine: this.pid, restarts: this.#restarts }, 'engine restarted');
        listener.onRestarted();
        return;
      } catch (error) {
        failed += 1;
        pauseMs = backoffMs(PAUSES, failed);
        log.error({ error, failed, retryInMs: pauseMs }, 'engine could not be restarted');
        if (failed < MAX_FAILED_STARTS) continue;
        listener.onGivenUp(
          new LehrError('engine-failed', 'The engine could not be restarted', { cause: error }),
        );
        return;
      }
    }
  }
}
