/** The open models of one task and their lanes, and what these are built from. */

import { availableParallelism } from 'node:os';
import { type Clock, type Optimization, RecentlyUsed, type Tuned } from '@lehr/shared';
import type { EngineSettings, FromEngine, GraphReport, OpenedModel, SampleId } from '../protocol/messages.ts';
import type { Batching, InferenceRuntime } from '../runtime/runtime.ts';
import type { RowCap } from './row-cap.ts';
import type { TurnTaker } from './turns.ts';

/** What the engine and its parts, the lanes of the tasks, are built from. */
export interface EngineParts {
  readonly runtime: InferenceRuntime;
  readonly settings: EngineSettings;
  readonly clock: Clock;
  readonly post: (message: FromEngine) => void;
  /** Draws noise while a graph runs (diffusion/noise.ts); the engine closes it. */
  readonly noise?: { begin(draws: readonly SharedArrayBuffer[]): void; close(): Promise<void> };
}

interface WarmModel {
  readonly ref: string;
  readonly batching: Batching;
  readonly graphs: readonly GraphReport[];
  /** The row cap of its steps, or of its decoder calls. */
  readonly cap: RowCap;
  readonly warmUpMs: number;
}

/** The answer to opening a model, as far as tasks share it. */
export const openedModel = ({ ref, batching, graphs, cap, warmUpMs }: WarmModel): OpenedModel => ({
  ref,
  warmUpMs,
  batching: batching.mode === 'rows' ? 'step' : 'aligned',
  ...(batching.mode === 'aligned' && { reason: batching.reason }),
  graphs,
  stepMs: cap.measurements,
  rowCap: cap.rows,
});

const isNotOpen = (ref: string): Error =>
  new Error(`Model ${ref} is not open in this engine. This is a bug in Lehr.`);

interface OpenSettings extends EngineSettings {
  readonly optimization?: Optimization;
  /** In place of the model's. */
  readonly variant?: string;
}

/**
 * The settings with which one model is opened: those of the worker, and what `lehr tune` found for it.
 *
 * What `tuned` says for the first device of the engine. What the worker's own variables set wins, because they are of this machine:
 * LEHR_THREADS, LEHR_ROW_CAP, and LEHR_DEVICE when it names a device. `cores`: threads of the machine.
 */
export function tunedSettings(
  settings: EngineSettings,
  tuned: Tuned | undefined,
  cores = availableParallelism(),
): OpenSettings {
  const [first, ...more] = settings.providers;
  const found = tuned?.[first];
  if (!found) return settings;
  const { device, threads, row_cap: rowCap, optimization, variant } = found;
  const isOffered = device !== undefined && more.includes(device);
  const wantedThreads = settings.threads ?? (threads && Math.min(threads, cores));
  return {
    ...settings,
    ...(wantedThreads !== undefined && { threads: wantedThreads }),
    ...(isOffered && { providers: [device, ...settings.providers.filter((each) => each !== device)] }),
    rowCap: settings.rowCap === 'auto' ? (rowCap ?? 'auto') : settings.rowCap,
    ...(optimization && { optimization }),
    ...(variant !== undefined && { variant }),
  };
}

/** An open model, with what was measured of it. */
interface Opened {
  readonly model: { close(): Promise<void> };
}

interface Sample {
  /** The name of its lane. */
  readonly lane: string;
  /** `name@version`. */
  readonly model: string;
}

interface Lane extends TurnTaker {
  cancel(id: SampleId): boolean;
}

/** A lane with the `name@version` of its model. */
interface Known<L extends Lane> {
  readonly ref: string;
  readonly lane: L;
}

/** Callers choose the sizes of pictures, and each size has a lane. A lane without samples holds nothing but its measurements. */
const MAX_LANES_KEPT = 64;

export abstract class ModelLanes<Model extends Opened, Request extends Sample, L extends Lane> {
  protected readonly parts: EngineParts;
  readonly #models: Map<string, Model>;
  readonly #lanes = new RecentlyUsed<string, Known<L>>(MAX_LANES_KEPT, ({ lane }) => lane.hasWork);

  /** With `beside`, these are further lanes of its open models. */
  constructor(parts: EngineParts, beside?: ModelLanes<Model, Request, L>) {
    this.parts = parts;
    this.#models = beside ? beside.#models : new Map();
  }

  protected abstract newLane(request: Request, opened: Model): L;

  /** Throws LehrError `invalid-input` for what the model cannot do. */
  abstract submit(request: Request): void;

  protected add(ref: string, opened: Model): void {
    this.#models.set(ref, opened);
  }

  /** How many lanes it remembers. */
  get count(): number {
    return this.#lanes.size;
  }

  /** Cancels a sample, of which nothing more is posted; returns false when there is no such sample. */
  cancel(id: SampleId): boolean {
    return this.turnTakers().some((taker) => taker.cancel(id));
  }

  turnTakers(): Lane[] {
    return this.lanes;
  }

  protected get lanes(): L[] {
    return [...this.#lanes.values()].map(({ lane }) => lane);
  }

  /** Closes a model that has no sample left. */
  async closeModel(ref: string): Promise<void> {
    const opened = this.#models.get(ref);
    this.#models.delete(ref);
    for (const [name, known] of [...this.#lanes.entries()]) if (known.ref === ref) this.#lanes.delete(name);
    await opened?.model.close();
  }

  async close(): Promise<void> {
    for (const { model } of this.#models.values()) await model.close();
  }

  protected find(ref: string): Model | undefined {
    return this.#models.get(ref);
  }

  protected opened(ref: string): Model {
    const opened = this.find(ref);
    if (!opened) throw isNotOpen(ref);
    return opened;
  }

  protected lane(request: Request): L {
    const known = this.#lanes.get(request.lane);
    if (known) return known.lane;
    const lane = this.newLane(request, this.opened(request.model));
    this.#lanes.set(request.lane, { ref: request.model, lane });
    return lane;
  }
}
