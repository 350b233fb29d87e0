/**
 * Reads models.yaml, and again while a program runs. A change is taken when two checks have seen the same text, because an editor may
 * still write the file, or at once on request. A file that cannot be used is reported, and the earlier models stay.
 */
import { existsSync, readFileSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { every } from '../base/every.ts';
import type { Log } from '../base/log.ts';
import { type DetectedFamily, detectFamily } from '../contracts/diffusion-family.ts';
import { fromModelsFile } from '../models/cache/fetch-model.ts';
import { parseRegistry, type Registry } from '../models/registry.ts';

export interface ModelsWatchOptions {
  readonly models: ModelsFile;
  readonly clock: Clock;
  readonly log: Log;
  /** Why this program cannot use these models; undefined when it can. */
  readonly fault?: (registry: Registry) => string | undefined;
  /** The registry has the models of the changed file. */
  readonly onChanged?: () => void;
}

/** A watch of the file system would miss changes on network file systems, and of a mounted ConfigMap. */
const CHECK_EVERY_MS = 5_000;

export class ModelsWatch {
  readonly #options: ModelsWatchOptions;
  #stop: (() => Promise<void>) | undefined;
  /** The text that is in force. */
  #text: string;
  /** The text of the last check; undefined when the file could not be read. */
  #seen: string | undefined;
  #problem: string | undefined;
  #checking: Promise<void> = Promise.resolve();

  constructor(options: ModelsWatchOptions) {
    this.#options = options;
    this.#text = options.models.text;
    this.#seen = options.models.text;
  }

  /** Why the file cannot be used, so that an earlier one is in force; undefined when the file is in force. */
  get problem(): string | undefined {
    return this.#problem;
  }

  start(): void {
    const failed = 'models.yaml could not be checked; trying again';
    this.#stop ??= every(CHECK_EVERY_MS, () => this.#check(false), { ...this.#options, failed });
  }

  stop(): void {
    void this.#stop?.();
  }

  /** Reads the file now and takes what it says, without waiting for a second check. */
  reload(): Promise<void> {
    return this.#check(true);
  }

  /** One check after the other. */
  #check(isRequested: boolean): Promise<void> {
    this.#checking = this.#checking.then(() => this.#readAgain(isRequested));
    return this.#checking;
  }

  async #readAgain(isRequested: boolean): Promise<void> {
    const { path } = this.#options.models;
    const before = this.#seen;
    try {
      const { text, changedAtS } = await readModelsText(path);
      this.#seen = text;
      if (text === this.#text) this.#solved();
      else if (isRequested || text === before) this.#take(text, changedAtS);
    } catch (error) {
      const isSecond = before === undefined;
      this.#seen = undefined;
      if (isRequested || isSecond) this.#refuse(error as Error);
    }
  }

  #take(text: string, changedAtS: number): void {
    const { models, log, fault = () => undefined, onChanged } = this.#options;
    try {
      const registry = parseModels(models.path, text, changedAtS);
      const reason = fault(registry);
      if (reason !== undefined) throw new Error(reason);
      this.#text = text;
      models.registry.replaceBy(registry);
    } catch (error) {
      this.#refuse(error as Error);
      return;
    }
    this.#problem = undefined;
    const names = models.registry.models.map(({ name }) => name);
    log.info({ path: models.path, models: names }, 'models.yaml has changed');
    onChanged?.();
  }

  /** The file says again what is in force. */
  #solved(): void {
    if (this.#problem === undefined) return;
    this.#problem = undefined;
    this.#options.log.info({ path: this.#options.models.path }, 'models.yaml can be used again');
  }

  #refuse({ message }: Error): void {
    if (message === this.#problem) return;
    this.#problem = message;
    const { models, log } = this.#options;
    log.error(
      { path: models.path, problem: message },
      'models.yaml has changed and cannot be used; the earlier models stay',
    );
  }
}

/**
 * Reloads on SIGHUP. Not in a terminal, where SIGHUP means that the terminal is closed: there it ends the process, as without
 * this function.
 */
export function reloadOnHangUp(watch: ModelsWatch): void {
  if (process.stdin.isTTY || process.stdout.isTTY) return;
  process.on('SIGHUP', () => void watch.reload());
}

export interface ModelsFile {
  /** Absolute. */
  readonly path: string;
  /** What the file says. */
  readonly text: string;
  readonly registry: Registry;
}

/** Throws the error of the file system, or `invalid-request` with every fault of the text. */
export async function readModelsFile(path: string): Promise<ModelsFile> {
  const { text, changedAtS } = await readModelsText(path);
  return { path, text, registry: parseModels(path, text, changedAtS) };
}

/** The text, and when it last changed in Unix seconds. */
async function readModelsText(path: string): Promise<{ text: string; changedAtS: number }> {
  const [text, { mtimeMs }] = await Promise.all([readFile(path, 'utf8'), stat(path)]);
  return { text, changedAtS: Math.floor(mtimeMs / 1000) };
}

/** Relative folders in the text start from the folder of `path`. */
export const parseModels = (path: string, text: string, changedAtS: number): Registry =>
  parseRegistry(text, (folder) => readFamily(fromModelsFile(dirname(path), folder)), changedAtS);

/**
 * Reads the family of a model from the configs in its folder, where this process can see the folder: an API may run without.
 * Undefined when the folder is not there, or is no diffusers folder; the worker then says why it cannot be opened.
 */
export function readFamily(folder: string): DetectedFamily | undefined {
  const index = readJson(join(folder, 'model_index.json'));
  if (!index) return undefined;
  return detectFamily({
    index,
    scheduler: readJson(join(folder, 'scheduler/scheduler_config.json')) ?? {},
    unet: readJson(join(folder, 'unet/config.json')) ?? {},
    vae: readJson(join(folder, 'vae_decoder/config.json')) ?? {},
    hasVaeEncoder: existsSync(join(folder, 'vae_encoder/model.onnx')),
  });
}

function readJson(path: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
