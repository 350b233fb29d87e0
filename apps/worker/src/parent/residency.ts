/**
 * Keeps the models of a worker within its memory budget (LEHR_MODEL_MEMORY_MB): looks twice a second for which models jobs wait, and loads
 * and unloads them as supervisor/choose-models.ts decides. Without a budget there is no such object, and all models are open.
 */
import {
  type Clock,
  formatModelRef,
  LehrError,
  type Log,
  parseGroupQueueName,
  WakeUp,
  type WorkerId,
  type WorkerStatus,
} from '@lehr/shared';
import type { GroupHead } from '@lehr/shared/queue';
import { bytesOf } from '../engine/folder/files-state.ts';
import {
  chooseMove,
  ElsewhereLoaded,
  type ModelMove,
  type ModelState,
  WaitingMemory,
} from './supervisor/choose-models.ts';
import type { EngineModels, ModelPlace } from './supervisor/engine-models.ts';
import { filesOfModel } from './supervisor/model-files.ts';

/** The engine side, as far as models are loaded and unloaded. */
export interface ResidentEngine {
  readonly isUp: () => boolean;
  readonly models: EngineModels;
  /** Whether a job that runs here is of this model (`name@version`). */
  usesModel(ref: string): boolean;
  /** When a job of this model ended here last, by the monotonic clock. */
  lastUse(ref: string): number | undefined;
  /** The models that jobs of this one need, too. */
  companions(ref: string): readonly string[];
}

export interface ResidencyOptions {
  readonly budgetBytes: number;
  readonly engine: ResidentEngine;
  readonly id: WorkerId;
  readonly clock: Clock;
  readonly log: Log;
  /** Heads of the groups of these models; not all at once when there are many. */
  readonly heads: (models: readonly string[]) => Promise<GroupHead[]>;
  /** Whether the last call of `heads` looked at all groups with waiting jobs. */
  readonly sawAllHeads: () => boolean;
  readonly fleet: () => Promise<WorkerStatus[]>;
  /** Whether jobs of this model are being claimed. */
  readonly isClaiming: (ref: string) => boolean;
  /** A model is no longer served, or will be loaded. */
  readonly onMove: () => void;
  readonly onUnload: (ref: string) => void;
}

type Status = NonNullable<WorkerStatus['residency']>;

const LOOK_EVERY_MS = 500;
/** Workers report as often. */
const READ_FLEET_EVERY_MS = 2_000;

/** What is remembered of a wanted model. */
interface Facts {
  state: ModelState['state'];
  since: number;
  fileBytes: number;
  /** As `bytes` of ModelState. */
  bytes: number;
  loadMs: number;
}

export class Residency {
  readonly #options: ResidencyOptions;
  readonly #elsewhere: ElsewhereLoaded;
  readonly #stop = new AbortController();
  readonly #facts = new Map<string, Facts>();
  readonly #memory = new WaitingMemory();
  readonly #wakeUp: WakeUp;
  #loop: Promise<void> | undefined;
  #fleetReadAt = Number.NEGATIVE_INFINITY;
  /** The model that room is being made for. */
  #next: string | undefined;

  constructor(options: ResidencyOptions) {
    this.#options = options;
    this.#wakeUp = new WakeUp(options.clock);
    this.#elsewhere = new ElsewhereLoaded(options.id);
  }

  /** What the worker reports. */
  get status(): Status {
    const { budgetBytes, engine } = this.#options;
    const models = engine.models.places.map(({ model: { ref }, state }) => ({
      ref,
      state: state === 'known' && ref === this.#next ? ('loading' as const) : state,
      bytes: this.#facts.get(ref)?.bytes ?? 0,
      load_ms: this.#facts.get(ref)?.loadMs ?? 0,
    }));
    return { budget_bytes: budgetBytes, models };
  }

  /** Loads what fits, then goes on until `stop`. Rejects with the reason when no model can be opened. */
  async start(): Promise<void> {
    const { engine } = this.#options;
    while (!this.#stop.signal.aborted) {
      const move = await this.#tryLook();
      const isLoading = engine.models.places.some(({ state }) => state === 'loading');
      if (move && move.load === undefined && !isLoading) break;
      await this.#wakeUp.wait(LOOK_EVERY_MS);
    }
    const [failed] = engine.models.unavailable;
    if (failed && engine.models.places.length === 0)
      throw new LehrError(failed.failure.code, failed.failure.message);
    this.#loop = this.#run();
  }

  /** Looks again at once: a model was opened, or the engine was started again. */
  look(): void {
    this.#wakeUp.wake();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    this.look();
    await this.#loop;
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      await this.#wakeUp.wait(LOOK_EVERY_MS);
      await this.#tryLook();
    }
  }

  /** Undefined when Redis did not answer: the next look is soon. */
  async #tryLook(): Promise<ModelMove | undefined> {
    try {
      return await this.#look();
    } catch (error) {
      this.#options.log.debug({ error }, 'the waiting jobs of the models could not be read');
      return undefined;
    }
  }

  async #look(): Promise<ModelMove> {
    const { engine, budgetBytes, clock } = this.#options;
    if (!engine.isUp() || this.#stop.signal.aborted) return { unload: [] };
    engine.models.closeUnloaded((ref) => this.#isInUse(ref));
    for (const place of engine.models.places) await this.#learn(place);
    const waiting = await this.#waiting();
    const now = clock.monotonic();
    const models = engine.models.places.map((place) => this.#stateOf(place, waiting));
    const move = chooseMove(models, budgetBytes, now, this.#leavingBytes);
    await this.#make(move, engine.models.places);
    return move;
  }

  get #leavingBytes(): number {
    const { leaving } = this.#options.engine.models;
    return leaving.reduce(
      (sum, { ref, grownBytes = 0 }) => sum + (this.#facts.get(ref)?.bytes ?? grownBytes),
      0,
    );
  }

  /** Notes how long a model is in its state, and what it takes. */
  async #learn({ model, state, opened }: ModelPlace): Promise<void> {
    const { engine, clock } = this.#options;
    const known = this.#facts.get(model.ref);
    const facts = known ?? { state, since: clock.monotonic(), fileBytes: 0, bytes: 0, loadMs: 0 };
    this.#facts.set(model.ref, facts);
    if (facts.state !== state) Object.assign(facts, { state, since: clock.monotonic() });
    if (opened?.openMs !== undefined) facts.loadMs = opened.openMs;
    if (facts.fileBytes === 0) facts.fileBytes = bytesOf(await filesOfModel(model));
    if (opened) facts.bytes = Math.max(facts.fileBytes, opened.grownBytes ?? 0);
    else facts.bytes ||= facts.fileBytes;
    if (facts.bytes > 0 || opened) return;
    const message = `there is no model in its folder ${model.folder}`;
    engine.models.markUnavailable({ ref: model.ref, failure: { code: 'model-unavailable', message } });
  }

  #isInUse(ref: string): boolean {
    const { engine, isClaiming } = this.#options;
    if (engine.usesModel(ref) || isClaiming(ref)) return true;
    // A job that is being claimed will need it.
    return engine.models.places.some(
      ({ model }) => engine.companions(model.ref).includes(ref) && isClaiming(model.ref),
    );
  }

  /** The jobs that wait for each model. Of other workers, only when jobs wait for a model that is not loaded here. */
  async #waiting(): Promise<ReadonlyMap<string, ModelState['waiting']>> {
    const { engine, heads, sawAllHeads, fleet, clock } = this.#options;
    const found = new Map<string, { jobs: number; oldestMs: number }>();
    for (const { queue, waiting: jobs, waitedMs } of await heads(
      engine.models.places.map(({ model }) => model.ref),
    )) {
      const group = parseGroupQueueName(queue);
      if (!group) continue;
      const ref = formatModelRef(group.model);
      const known = found.get(ref) ?? { jobs: 0, oldestMs: 0 };
      found.set(ref, { jobs: known.jobs + jobs, oldestMs: Math.max(known.oldestMs, waitedMs) });
    }
    const own = this.#memory.add(found, sawAllHeads(), clock.monotonic());
    const waiting = new Map(own);
    // What a model needs is loaded for its jobs.
    for (const [ref, wait] of own) {
      for (const companion of engine.companions(ref)) waiting.set(companion, wait);
    }
    const isMissing = engine.models.places.some(
      ({ model, state }) => state === 'known' && waiting.has(model.ref),
    );
    if (isMissing && clock.monotonic() - this.#fleetReadAt >= READ_FLEET_EVERY_MS) {
      this.#fleetReadAt = clock.monotonic();
      this.#elsewhere.read(await fleet(), clock.monotonic());
    }
    return waiting;
  }

  #stateOf(
    { model: { ref }, state, isSuspect }: ModelPlace,
    waiting: ReadonlyMap<string, ModelState['waiting']>,
  ): ModelState {
    const { clock, engine } = this.#options;
    const { since = clock.monotonic(), bytes = 0, loadMs = 0 } = this.#facts.get(ref) ?? {};
    const isInUse = this.#isInUse(ref);
    return {
      ref,
      state,
      isSuspect,
      bytes,
      loadMs,
      since,
      isInUse,
      usedAt: isInUse ? clock.monotonic() : engine.lastUse(ref),
      waiting: waiting.get(ref),
      elsewhereSince: this.#elsewhere.since(ref),
    };
  }

  async #make({ load, unload, next }: ModelMove, places: readonly ModelPlace[]): Promise<void> {
    const { engine, log, onMove, onUnload } = this.#options;
    const isAnnounced = next === this.#next;
    this.#next = next;
    for (const ref of unload) {
      engine.models.unload(ref);
      onUnload(ref);
      log.info({ model: ref, next }, 'model gets no more jobs and is unloaded');
    }
    const place = places.find(({ model }) => model.ref === load);
    const isLoaded = place !== undefined && (await this.#load(place));
    if (unload.length > 0 || isLoaded || !isAnnounced) onMove();
  }

  /** Returns false when nothing has changed: a model of which a file was written stays out of service until it is closed. */
  async #load({ model, state }: ModelPlace): Promise<boolean> {
    const { engine, log } = this.#options;
    const files = await filesOfModel(model);
    if (!engine.isUp()) return false;
    engine.models.load(model, files);
    if (engine.models.places.find((each) => each.model.ref === model.ref)?.state === state) return false;
    log.info({ model: model.ref, bytes: this.#facts.get(model.ref)?.bytes }, 'model is being loaded');
    return true;
  }
}
