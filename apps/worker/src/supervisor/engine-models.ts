/**
 * The models of the running engine: those that it opened, and those that it could not open. A model of the second kind is
 * tried again soon after a file of its folder has changed, and every few minutes, because the reason may have passed (device
 * memory that another process held). The others serve meanwhile.
 */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '@lehr/shared';
import type { ModelToOpen, OpenedModel, UnavailableModel } from '../engine/protocol.ts';
import type { OpenResult } from './engine-process.ts';

export interface EngineModelsOptions {
  readonly models: readonly ModelToOpen[];
  readonly clock: Clock;
  /** Asks the engine to open a model again. */
  readonly open: (model: ModelToOpen) => void;
}

/** A watch of the file system would miss changes on network file systems. */
const CHECK_EVERY_MS = 5_000;
const CHECKS_PER_RETRY = 60;
const NONE: OpenResult = { models: [], unavailable: [] };

export class EngineModels {
  readonly #options: EngineModelsOptions;
  #result = NONE;
  readonly #folders = new Map<string, { state: string; tried?: string | undefined; checks: number }>();
  /** Models that the engine is trying to open. */
  readonly #opening = new Set<string>();

  constructor(options: EngineModelsOptions) {
    this.#options = options;
  }

  get opened(): readonly OpenedModel[] {
    return this.#result.models;
  }

  get unavailable(): readonly UnavailableModel[] {
    return this.#result.unavailable;
  }

  /** Whether the engine is trying to open a model, which can block it for long. */
  get isOpening(): boolean {
    return this.#opening.size > 0;
  }

  /** A new engine has tried all models. */
  reset(result: OpenResult = NONE): void {
    this.#result = result;
    this.#folders.clear();
    this.#opening.clear();
  }

  add(model: OpenedModel): void {
    const { models, unavailable } = this.#result;
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
  }

  /** Tries models again until the signal is aborted. */
  async watchFolders(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    while (!signal.aborted) {
      for (const { ref } of this.unavailable) await this.#check(ref);
      await clock.sleep(CHECK_EVERY_MS, signal);
    }
  }

  async #check(ref: string): Promise<void> {
    const model = this.#options.models.find((each) => each.ref === ref);
    if (!model) return;
    const state = await folderState(model.folder);
    const known = this.#folders.get(ref);
    const folder = { state, tried: known?.tried, checks: (known?.checks ?? 0) + 1 };
    this.#folders.set(ref, folder);
    // A folder that differs from check to check is still being written.
    const isDue = folder.tried !== state || folder.checks >= CHECKS_PER_RETRY;
    if (known?.state !== state || !isDue || this.#opening.has(ref)) return;
    this.#folders.set(ref, { state, tried: state, checks: 0 });
    this.#opening.add(ref);
    this.#options.open(model);
  }
}

/** Differs when a file of the folder was added, removed or written. */
async function folderState(folder: string): Promise<string> {
  const names = await readdir(folder, { recursive: true }).catch(() => []);
  const lines = await Promise.all(
    names.sort().map(async (name) => {
      const { size, mtimeMs } = await stat(join(folder, name)).catch(() => ({ size: 0, mtimeMs: 0 }));
      return `${name} ${size} ${mtimeMs}`;
    }),
  );
  return lines.join('\n');
}
