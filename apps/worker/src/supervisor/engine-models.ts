/**
 * The models of the running engine: those that it opened, and those that it could not open. A model of the second kind is
 * tried again soon after a file of its folder has changed, and every few minutes, because the reason may have passed (device
 * memory that another process held). The others serve meanwhile.
 *
 * The wanted models change with models.yaml. A new one is opened like one that could not be opened before. One that is no longer
 * wanted, or wanted from another folder, is not served any more, and is closed when no job uses it. So is a model of which a file was
 * written in place, because its runs may read what was written; it is opened again afterwards.
 */
import type { Clock } from '@lehr/shared';
import type { ModelToOpen, OpenedModel, UnavailableModel } from '../engine/protocol.ts';
import { type FilesState, filesState, writtenInPlace } from '../files-state.ts';
import type { OpenResult } from './engine-process.ts';

export interface EngineModelsOptions {
  readonly models: readonly ModelToOpen[];
  readonly clock: Clock;
  /** Asks the engine to open a model. */
  readonly open: (model: ModelToOpen) => void;
  /** Asks the engine to close a model (`name@version`). */
  readonly close: (ref: string) => void;
  /** A file of an open model was written in place. */
  readonly onWritten: (ref: string, path: string) => void;
}

/** A model, and its files before the engine began to open it. */
export interface Opening {
  readonly model: ModelToOpen;
  readonly files: FilesState;
}

/** A watch of the file system would miss changes on network file systems. */
const CHECK_EVERY_MS = 5_000;
const CHECKS_PER_RETRY = 60;
const NONE: OpenResult = { models: [], unavailable: [] };

export class EngineModels {
  readonly #options: EngineModelsOptions;
  #wanted: readonly ModelToOpen[];
  #result = NONE;
  /** What each open model was opened from, by ref. */
  #openedFrom = new Map<string, Opening>();
  readonly #folders = new Map<string, { state: string; tried?: string | undefined; checks: number }>();
  /** Models that the engine is trying to open, by ref. */
  readonly #opening = new Map<string, Opening>();
  /** Models that were open and not wanted at the last check. */
  #leaving: ReadonlySet<string> = new Set();

  constructor(options: EngineModelsOptions) {
    this.#options = options;
    this.#wanted = options.models;
  }

  get wanted(): readonly ModelToOpen[] {
    return this.#wanted;
  }

  /** All open models, also those that are closed when their jobs have ended. */
  get opened(): readonly OpenedModel[] {
    return this.#result.models;
  }

  /** The open models that jobs may be claimed for. */
  get served(): readonly OpenedModel[] {
    return this.opened.filter(({ ref }) => this.#isServed(ref));
  }

  get unavailable(): readonly UnavailableModel[] {
    return this.#result.unavailable;
  }

  /** Whether the engine is trying to open a model, which can block it for long. */
  get isOpening(): boolean {
    return this.#opening.size > 0;
  }

  /** Changes what is wanted. */
  want(models: readonly ModelToOpen[]): void {
    this.#wanted = models;
    // A model that is wanted again is tried soon, whatever was tried before.
    this.#folders.clear();
    this.#markMissing();
  }

  /** The wanted models, for a new engine that will open them. */
  prepare(): Promise<Opening[]> {
    return Promise.all(this.#wanted.map(async (model) => ({ model, files: await filesState(model.folder) })));
  }

  /** A new engine has tried these models. */
  reset(result: OpenResult = NONE, tried: readonly Opening[] = []): void {
    const isOpen = ({ model }: Opening): boolean => result.models.some(({ ref }) => ref === model.ref);
    this.#result = result;
    this.#openedFrom = new Map(tried.filter(isOpen).map((each) => [each.model.ref, each]));
    this.#folders.clear();
    this.#opening.clear();
    if (result !== NONE) this.#markMissing();
  }

  add(model: OpenedModel): void {
    const { models, unavailable } = this.#result;
    const from = this.#opening.get(model.ref);
    if (from) this.#openedFrom.set(model.ref, from);
    this.#opening.delete(model.ref);
    this.#result = {
      models: [...models.filter(({ ref }) => ref !== model.ref), model],
      unavailable: unavailable.filter(({ ref }) => ref !== model.ref),
    };
  }

  /** The model was tried again, and cannot be opened for this reason. */
  markUnavailable({ ref, failure }: UnavailableModel): void {
    const { models, unavailable } = this.#result;
    this.#opening.delete(ref);
    const others = unavailable.filter((each) => each.ref !== ref);
    this.#result = { models, unavailable: [...others, { ref, failure }] };
    this.#markMissing();
  }

  /** Opens and closes models until the signal is aborted. `isUsed` says whether jobs of this worker use an open model. */
  async watch(signal: AbortSignal, isUsed: (ref: string) => boolean): Promise<void> {
    const { clock } = this.#options;
    while (!signal.aborted) {
      this.#closeUnwanted(isUsed);
      await this.#checkOpenFiles();
      for (const { ref } of this.unavailable) await this.#check(ref);
      await clock.sleep(CHECK_EVERY_MS, signal);
    }
  }

  #isServed(ref: string): boolean {
    const from = this.#openedFrom.get(ref);
    return this.#wanted.some((model) => from !== undefined && isSameModel(model, from.model));
  }

  /** Wanted models that are not open are unavailable, and no others are. */
  #markMissing(): void {
    const { models, unavailable } = this.#result;
    this.#result = {
      models,
      unavailable: this.#wanted
        .filter(({ ref }) => !models.some((each) => each.ref === ref))
        .map(({ ref }) => unavailable.find((each) => each.ref === ref) ?? waiting(ref)),
    };
  }

  /** A model leaves one check after it is no longer wanted: a claim that was under way is a run by then, which `isUsed` knows. */
  #closeUnwanted(isUsed: (ref: string) => boolean): void {
    const leaving = this.opened.map(({ ref }) => ref).filter((ref) => !this.#isServed(ref));
    for (const ref of leaving.filter((each) => this.#leaving.has(each) && !isUsed(each))) {
      const { models, unavailable } = this.#result;
      this.#result = { models: models.filter((each) => each.ref !== ref), unavailable };
      this.#openedFrom.delete(ref);
      this.#folders.delete(ref);
      this.#options.close(ref);
    }
    this.#leaving = new Set(leaving);
    this.#markMissing();
  }

  /** A model without the place that it was opened from is not served. */
  async #checkOpenFiles(): Promise<void> {
    for (const [ref, from] of [...this.#openedFrom]) {
      const path = await writtenInPlace(from.model.folder, from.files);
      // Meanwhile a new engine may have opened the model again, or it may be closed.
      if (path === undefined || this.#openedFrom.get(ref) !== from) continue;
      this.#openedFrom.delete(ref);
      this.#options.onWritten(ref, path);
    }
  }

  async #check(ref: string): Promise<void> {
    const model = this.#wanted.find((each) => each.ref === ref);
    if (!model) return;
    const files = await filesState(model.folder);
    // A new engine may have opened it meanwhile.
    if (!this.unavailable.some((each) => each.ref === ref)) return;
    const state = [...files].join('\n');
    const known = this.#folders.get(ref);
    const folder = { state, tried: known?.tried, checks: (known?.checks ?? 0) + 1 };
    this.#folders.set(ref, folder);
    // A folder that differs from check to check is still being written.
    const isDue = folder.tried !== state || folder.checks >= CHECKS_PER_RETRY;
    if (known?.state !== state || !isDue || this.#opening.has(ref)) return;
    this.#folders.set(ref, { state, tried: state, checks: 0 });
    this.#opening.set(ref, { model, files });
    this.#options.open(model);
  }
}

/** Not when they differ in the picture size of their warm-up only. */
function isSameModel(a: ModelToOpen, b: ModelToOpen): boolean {
  if (a.ref !== b.ref || a.task !== b.task || a.folder !== b.folder) return false;
  return a.task === 'diffusion' || b.task === 'diffusion' || a.variant === b.variant;
}

const waiting = (ref: string): UnavailableModel => ({
  ref,
  failure: { code: 'model-unavailable', message: 'waits to be opened' },
});
