/** The models that jobs of this worker can run on: their entries in models.yaml, and which group queues they serve. */
import {
  companionRef,
  companionsOf,
  formatModelRef,
  type ModelEntry,
  parseGroupQueueName,
  type Registry,
  rowsPerSample,
  type Task,
} from '@lehr/shared';
import type { OpenedModel, UnavailableModel } from '../../engine/protocol/messages.ts';
import type { LaneDefaults } from './lane-rows.ts';
import { USUAL_TOKENS } from './text-run.ts';

/**
 * What models.yaml says of the models that jobs can run on. The entry of a model that leaves models.yaml is kept while the model is open: a
 * job that was claimed just before has the limits and defaults that it was accepted with.
 */
export class ModelEntries {
  readonly #registry: Registry;
  readonly #opened: () => readonly OpenedModel[];
  #entries: ReadonlyMap<string, Entry> = new Map();

  /** `opened`: all models that are open, also those that no job may be claimed for any more. */
  constructor(registry: Registry, opened: () => readonly OpenedModel[]) {
    this.#registry = registry;
    this.#opened = opened;
    this.readRegistry();
  }

  /** Takes the entries of a changed models.yaml. */
  readRegistry(): void {
    const open = new Set(this.#opened().map(({ ref }) => ref));
    const kept = [...this.#entries].filter(([ref]) => open.has(ref));
    const present = this.#registry.models.flatMap((model) =>
      model.versions.map(
        ({ version }) => [`${model.name}@${version}`, entryOf(this.#registry, model)] as const,
      ),
    );
    this.#entries = new Map([...kept, ...present]);
  }

  /** `ref` is `name@version`. */
  find(ref: string): ModelEntry | undefined {
    return this.#entries.get(ref)?.model;
  }

  /** `name@version` of the models that jobs of this one need, too. */
  companions(ref: string): readonly string[] {
    return this.#entries.get(ref)?.companions ?? [];
  }

  /** The one of them that checks its pictures. */
  checker(ref: string): string | undefined {
    return this.#entries.get(ref)?.checker;
  }
}

interface Entry {
  readonly model: ModelEntry;
  readonly companions: readonly string[];
  readonly checker: string | undefined;
}

function entryOf(registry: Registry, model: ModelEntry): Entry {
  const safety = model.task === 'diffusion' ? model.safety : undefined;
  const checker = safety && formatModelRef(companionRef(registry, safety.model));
  return { model, companions: companionsOf(registry, model), checker };
}

/**
 * The part of a text lane's cap that one job counts as at most. A job of two thousand texts runs for long and lets the texts of others
 * into its runs, so it must not keep them from being claimed.
 */
const MOST_OF_TEXT_LANE = 1 / 8;
/** The same for a picture of many tiles. */
const MOST_OF_TRANSFORM_LANE = 1 / 4;
/** The row cap assumed for a lane whose model was not measured. */
const UNMEASURED_ROWS = 8;

export class ServedModels implements LaneDefaults {
  readonly #opened: () => readonly OpenedModel[];
  readonly #entries: ModelEntries;
  readonly #tasks: readonly Task[];

  constructor(opened: () => readonly OpenedModel[], entries: ModelEntries, tasks: readonly Task[]) {
    this.#opened = opened;
    this.#entries = entries;
    this.#tasks = tasks;
  }

  /**
   * An aligned model also serves groups that are not split by steps: their jobs may have been posted before the model was known
   * to be aligned, and the lane itself batches only samples that can share a step.
   */
  serves(queue: string): boolean {
    const group = parseGroupQueueName(queue);
    if (group === undefined || !this.#tasks.includes(group.task)) return false;
    const model = this.#find(queue);
    return model !== undefined && this.#hasCompanions(model);
  }

  /** The models that jobs are claimed for: not those that are open for others only, nor those that lack what they need. */
  get offered(): readonly OpenedModel[] {
    return this.#opened().filter((model) => {
      const task = this.#entries.find(model.ref)?.task;
      return (task === undefined || this.#tasks.includes(task)) && this.#hasCompanions(model);
    });
  }

  /** The open models whose jobs are not claimed, because a model that they need is one of `unavailable`. */
  lacking(unavailable: readonly UnavailableModel[]): UnavailableModel[] {
    return this.#opened().flatMap(({ ref }) => {
      const needed = this.#entries.companions(ref);
      const missing = unavailable.find((each) => needed.includes(each.ref));
      if (!missing) return [];
      const { code, message } = missing.failure;
      return [
        { ref, failure: { code, message: `needs ${missing.ref}, which cannot be opened: ${message}` } },
      ];
    });
  }

  #hasCompanions({ ref }: OpenedModel): boolean {
    const opened = this.#opened();
    return this.#entries.companions(ref).every((each) => opened.some((model) => model.ref === each));
  }

  /** The row cap of a lane until it is measured. */
  firstCap(queue: string): number {
    return this.#find(queue)?.rowCap ?? UNMEASURED_ROWS;
  }

  /** The rows of a job with the model's default guidance; the real number is known once the job is claimed. */
  usualRows(queue: string): number {
    const group = parseGroupQueueName(queue);
    const model = group && this.#entries.find(formatModelRef(group.model));
    if (model?.task === 'whisper' || model?.task === 'transform') return 1;
    // A row of a text lane is a token.
    if (model?.task === 'text') return USUAL_TOKENS;
    return rowsPerSample(model?.defaults.guidance ?? Number.POSITIVE_INFINITY, model?.guidance);
  }

  mostRows(queue: string, cap: number): number {
    const task = parseGroupQueueName(queue)?.task;
    if (task !== 'text' && task !== 'transform') return Number.POSITIVE_INFINITY;
    return Math.max(1, Math.floor(cap * (task === 'text' ? MOST_OF_TEXT_LANE : MOST_OF_TRANSFORM_LANE)));
  }

  /** A graph that takes one timestep for all rows runs its batch to the end. */
  canPause(queue: string): boolean {
    const isDiffusion = parseGroupQueueName(queue)?.task === 'diffusion';
    return isDiffusion && this.#find(queue)?.batching === 'step';
  }

  isLimited(queue: string): boolean {
    return parseGroupQueueName(queue)?.task === 'diffusion';
  }

  /** The longest audio that a job of a speech group may have, in seconds; undefined for other groups. */
  maxAudioS(queue: string): number | undefined {
    const group = parseGroupQueueName(queue);
    const model = group && this.#entries.find(formatModelRef(group.model));
    return model?.task === 'whisper' ? model.limits.max_audio_s : undefined;
  }

  #find(queue: string): OpenedModel | undefined {
    const group = parseGroupQueueName(queue);
    return group && this.#opened().find(({ ref }) => ref === formatModelRef(group.model));
  }
}
