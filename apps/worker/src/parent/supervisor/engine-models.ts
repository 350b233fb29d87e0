/**
 * The models of the running engine: those that it opened, and those that it could not open. A model of the second kind is
 * tried again soon after a file of its folder has changed, and every few minutes, because the reason may have passed (device
 * memory that another process held). The others serve meanwhile.
 *
 * The wanted models change with models.yaml. A new one is opened like one that could not be opened before. One that is no longer
 * wanted, or wanted from another folder, is not served any more, and is closed when no job uses it. So is a model of which a file was
 * written in place, because its runs may read what was written; it is opened again afterwards. The file of an adapter may also appear, go or
 * be replaced: the model is opened again when the file stays as it is from one check to the next.
 *
 * With a memory budget, wanted models are opened and closed only by `load` and `unload` (residency.ts), and a model that could not be opened
 * is offered for it again when its time has come.
 */
import { isDeepStrictEqual } from 'node:util';
import { type Clock, every, type Log } from '@lehr/shared';
import { type FilesState, writtenInPlace } from '../../engine/folder/files-state.ts';
import type { ModelToOpen, OpenedModel, UnavailableModel } from '../../engine/protocol/messages.ts';
import type { OpenResult } from './engine-process.ts';
import { FolderRetries } from './folder-retries.ts';
import { changedPart, filesOfModel } from './model-files.ts';

export interface EngineModelsOptions {
  readonly models: readonly ModelToOpen[];
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
  /** Asks the engine to open a model. */
  readonly open: (model: ModelToOpen) => void;
  /** Asks the engine to close a model (`name@version`). */
  readonly close: (ref: string) => void;
  /** A file of an open model was written in place. */
  readonly onWritten: (ref: string, path: string) => void;
  /** An adapter of an open model has changed, and the model will be opened again. */
  readonly onPartChanged: (ref: string, path: string) => void;
  /** Whether there is a memory budget. */
  readonly isLimited?: boolean;
}

/** A wanted model. `known`: not open, and nothing speaks against opening it. */
export interface ModelPlace {
  readonly model: ModelToOpen;
  readonly state: 'known' | 'loading' | 'loaded' | 'unloading';
  /** Whether an engine died while it opened the model, and no other engine has opened it since. */
  readonly isSuspect: boolean;
  /** Set when it is open. */
  readonly opened?: OpenedModel | undefined;
}

/** A model, and its files before the engine began to open it. */
export interface Opening {
  readonly model: ModelToOpen;
  readonly files: FilesState;
}

/** A watch of the file system would miss changes on network file systems. */
const CHECK_EVERY_MS = 5_000;
const NONE: OpenResult = { models: [], unavailable: [] };
const DIED_OPENING = 'the engine died while it opened the model';

export class EngineModels {
  readonly #options: EngineModelsOptions;
  #wanted: readonly ModelToOpen[];
  #result = NONE;
  /** What each open model was opened from, by ref. */
  #openedFrom = new Map<string, Opening>();
  readonly #retries = new FolderRetries();
  /** Models that the engine is trying to open, by ref. */
  readonly #opening = new Map<string, Opening>();
  /** With a memory budget: the models that are or will be open. Undefined: all wanted ones. */
  #kept: Set<string> | undefined;
  /** Models that were being opened when an engine died. */
  readonly #suspects = new Set<string>();
  /** Models that were open and not wanted at the last check. */
  #leaving: ReadonlySet<string> = new Set();
  /** The files of models at the last check, where an adapter was not as when the model was opened. */
  readonly #changing = new Map<string, FilesState>();

  constructor(options: EngineModelsOptions) {
    this.#options = options;
    this.#wanted = options.models;
    this.#kept = options.isLimited ? new Set() : undefined;
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

  /** The wanted models without those that are unavailable. */
  get places(): readonly ModelPlace[] {
    const failed = new Set(this.unavailable.map(({ ref }) => ref));
    return this.#wanted.flatMap((model): ModelPlace[] => {
      const opened = this.opened.find(({ ref }) => ref === model.ref);
      const isSuspect = this.#suspects.has(model.ref);
      if (opened) {
        const state = this.#isServed(model.ref) ? 'loaded' : 'unloading';
        return [{ model, opened, isSuspect, state }];
      }
      if (failed.has(model.ref)) return [];
      return [{ model, isSuspect, state: this.#kept?.has(model.ref) ? 'loading' : 'known' }];
    });
  }

  /** The models that are no longer wanted, and still open because jobs use them. */
  get leaving(): readonly OpenedModel[] {
    return this.opened.filter(({ ref }) => !this.#wanted.some((model) => model.ref === ref));
  }

  /** Changes what is wanted. */
  want(models: readonly ModelToOpen[]): void {
    this.#wanted = models;
    for (const ref of this.#kept ?? []) if (!models.some((each) => each.ref === ref)) this.#kept?.delete(ref);
    // A model that is wanted again is tried soon, whatever was tried before.
    this.#retries.forget();
    this.#markMissing();
  }

  /** Opens a model, or keeps one that was being unloaded. The engine must be up; `files` are those of now. */
  load(model: ModelToOpen, files: FilesState): void {
    this.#kept?.add(model.ref);
    if (this.opened.some(({ ref }) => ref === model.ref)) return;
    this.#opening.set(model.ref, { model, files });
    this.#options.open(model);
  }

  /** No more jobs are claimed for this model. */
  unload(ref: string): void {
    this.#kept?.delete(ref);
  }

  /** Closes what was unloaded and is not used. `isUsed` must also know of claims under way. */
  closeUnloaded(isUsed: (ref: string) => boolean): void {
    for (const { ref } of this.opened) if (!this.#isServed(ref) && !isUsed(ref)) this.#close(ref);
  }

  /** The models that should be open, for a new engine that will open them. */
  prepare(): Promise<Opening[]> {
    return Promise.all(this.#target.map(async (model) => ({ model, files: await filesOfModel(model) })));
  }

  /** A new engine has tried these models. */
  reset(result: OpenResult = NONE, tried: readonly Opening[] = []): void {
    const isOpen = ({ model }: Opening): boolean => result.models.some(({ ref }) => ref === model.ref);
    this.#openedFrom = new Map(tried.filter(isOpen).map((each) => [each.model.ref, each]));
    if (this.#kept) {
      this.#resetLimited(result, tried);
    } else {
      this.#result = result;
      this.#retries.forget();
      this.#opening.clear();
    }
    if (result !== NONE) this.#markMissing();
  }

  /** With a memory budget, why models could not be opened is remembered. */
  #resetLimited(result: OpenResult, tried: readonly Opening[]): void {
    const interrupted = [...this.#opening];
    // The next engine gets the jobs in hand, also those of models that were being unloaded.
    if (result === NONE) for (const { ref } of this.opened) this.#kept?.add(ref);
    this.#result = { models: result.models, unavailable: this.unavailable };
    if (result !== NONE) this.#kept = new Set(result.models.map(({ ref }) => ref));
    for (const [ref] of interrupted) {
      this.markUnavailable({ ref, failure: { code: 'engine-failed', message: DIED_OPENING } });
      // The first time the reason may have been a job: it is tried again soon.
      if (!this.#suspects.has(ref)) this.#retries.forget(ref);
      this.#suspects.add(ref);
    }
    for (const failed of result.unavailable) {
      const opening = tried.find(({ model }) => model.ref === failed.ref);
      if (opening) this.#opening.set(failed.ref, opening);
      this.markUnavailable(failed);
    }
  }

  add(model: OpenedModel): void {
    const { models, unavailable } = this.#result;
    const from = this.#opening.get(model.ref);
    if (from) this.#openedFrom.set(model.ref, from);
    this.#opening.delete(model.ref);
    this.#suspects.delete(model.ref);
    this.#result = {
      models: [...models.filter(({ ref }) => ref !== model.ref), model],
      unavailable: unavailable.filter(({ ref }) => ref !== model.ref),
    };
  }

  /** The model was tried again, and cannot be opened for this reason. */
  markUnavailable({ ref, failure }: UnavailableModel): void {
    const { models, unavailable } = this.#result;
    if (this.#kept) {
      this.#kept.delete(ref);
      this.#retries.tried(ref, this.#opening.get(ref)?.files);
    }
    this.#opening.delete(ref);
    const others = unavailable.filter((each) => each.ref !== ref);
    this.#result = { models, unavailable: [...others, { ref, failure }] };
    this.#markMissing();
  }

  /** Opens and closes models until the function that it returns is called. `isUsed`: whether jobs of this worker use an open model. */
  watch(isUsed: (ref: string) => boolean): () => Promise<void> {
    const failed = 'the models could not be checked; they are checked again in some seconds';
    const check = async (): Promise<void> => {
      this.#closeUnwanted(isUsed);
      await this.#checkOpenFiles();
      for (const { ref } of this.unavailable) await this.#check(ref);
    };
    return every(CHECK_EVERY_MS, check, { ...this.#options, firstMs: 0, failed });
  }

  get #target(): readonly ModelToOpen[] {
    const kept = this.#kept;
    return kept ? this.#wanted.filter(({ ref }) => kept.has(ref)) : this.#wanted;
  }

  #isServed(ref: string): boolean {
    const from = this.#openedFrom.get(ref);
    return this.#target.some((model) => from !== undefined && isSameModel(model, from.model));
  }

  /** Wanted models that are not open are unavailable, and no others are; with a memory budget only those that could not be opened. */
  #markMissing(): void {
    const { models, unavailable } = this.#result;
    const missing = this.#wanted.filter(({ ref }) => !models.some((each) => each.ref === ref));
    this.#result = {
      models,
      unavailable: missing.flatMap(
        ({ ref }) => unavailable.find((each) => each.ref === ref) ?? (this.#kept ? [] : waiting(ref)),
      ),
    };
  }

  /** A model leaves one check after it is no longer wanted: a claim that was under way is a run by then, which `isUsed` knows. */
  #closeUnwanted(isUsed: (ref: string) => boolean): void {
    const leaving = this.opened.map(({ ref }) => ref).filter((ref) => !this.#isServed(ref));
    for (const ref of leaving) if (this.#leaving.has(ref) && !isUsed(ref)) this.#close(ref);
    this.#leaving = new Set(leaving);
    this.#markMissing();
  }

  #close(ref: string): void {
    const { models, unavailable } = this.#result;
    this.#result = { models: models.filter((each) => each.ref !== ref), unavailable };
    this.#openedFrom.delete(ref);
    this.#retries.forget(ref);
    this.#kept?.delete(ref);
    this.#options.close(ref);
  }

  /** A model without the place that it was opened from is not served. */
  async #checkOpenFiles(): Promise<void> {
    for (const [ref, from] of [...this.#openedFrom]) {
      const written = await writtenInPlace(from.model.folder, from.files);
      const changed = await this.#changedPart(ref, from);
      // Meanwhile a new engine may have opened the model again, or it may be closed.
      if (this.#openedFrom.get(ref) !== from || (written ?? changed) === undefined) continue;
      this.#openedFrom.delete(ref);
      if (written !== undefined) this.#options.onWritten(ref, written);
      else if (changed !== undefined) this.#options.onPartChanged(ref, changed);
    }
  }

  /** A file that differs from check to check is still being written. */
  async #changedPart(ref: string, { model, files }: Opening): Promise<string | undefined> {
    const { path, now } = await changedPart(model, files);
    const before = this.#changing.get(ref);
    if (path === undefined) this.#changing.delete(ref);
    else this.#changing.set(ref, now);
    return before && isDeepStrictEqual(before, now) ? path : undefined;
  }

  async #check(ref: string): Promise<void> {
    const model = this.#wanted.find((each) => each.ref === ref);
    if (!model) return;
    const files = await filesOfModel(model);
    // A new engine may have opened it meanwhile.
    if (!this.unavailable.some((each) => each.ref === ref)) return;
    if (!this.#retries.isDue(ref, files) || this.#opening.has(ref)) return;
    this.#retries.tried(ref, files);
    if (this.#kept) this.#offerAgain(ref);
    else this.load(model, files);
  }

  #offerAgain(ref: string): void {
    const { models, unavailable } = this.#result;
    this.#result = { models, unavailable: unavailable.filter((each) => each.ref !== ref) };
  }
}

/** Also when they differ in the picture size of their warm-up. */
const isSameModel = (a: ModelToOpen, b: ModelToOpen): boolean =>
  isDeepStrictEqual({ ...a, warmUp: undefined }, { ...b, warmUp: undefined });

const waiting = (ref: string): UnavailableModel => ({
  ref,
  failure: { code: 'model-unavailable', message: 'waits to be opened' },
});
