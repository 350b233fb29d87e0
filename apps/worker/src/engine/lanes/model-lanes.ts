/** Open models of one task and their lanes, for tasks that batch all samples of a model together: speech and texts. */

import type { SampleId } from '../protocol/messages.ts';
import { type EngineParts, isNotOpen } from './engine-parts.ts';
import type { TurnTaker } from './turns.ts';

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

interface Lane<Request extends Sample> extends TurnTaker {
  submit(request: Request): void;
  cancel(id: SampleId): boolean;
}

export abstract class ModelLanes<Model extends Opened, Request extends Sample> {
  protected readonly parts: EngineParts;
  readonly #models: Map<string, Model>;
  readonly #lanes = new Map<string, { readonly ref: string; readonly lane: Lane<Request> }>();

  /** With `beside`, these are further lanes of its open models. */
  constructor(parts: EngineParts, beside?: ModelLanes<Model, Request>) {
    this.parts = parts;
    this.#models = beside ? beside.#models : new Map();
  }

  protected abstract newLane(name: string, opened: Model): Lane<Request>;

  protected add(ref: string, opened: Model): void {
    this.#models.set(ref, opened);
  }

  /** Throws LehrError `invalid-input` for what the model cannot do. */
  submit(request: Request): void {
    this.#lane(request).submit(request);
  }

  /** Cancels a sample, of which nothing more is posted; returns false when there is no such sample. */
  cancel(id: SampleId): boolean {
    return this.turnTakers().some((lane) => lane.cancel(id));
  }

  turnTakers(): Lane<Request>[] {
    return [...this.#lanes.values()].map(({ lane }) => lane);
  }

  /** Closes a model that has no sample left. */
  async closeModel(ref: string): Promise<void> {
    const opened = this.#models.get(ref);
    this.#models.delete(ref);
    for (const [name, known] of this.#lanes) if (known.ref === ref) this.#lanes.delete(name);
    await opened?.model.close();
  }

  async close(): Promise<void> {
    for (const { model } of this.#models.values()) await model.close();
  }

  #lane({ lane: name, model: ref }: Request): Lane<Request> {
    const known = this.#lanes.get(name);
    if (known) return known.lane;
    const opened = this.#models.get(ref);
    if (!opened) throw isNotOpen(ref);
    const lane = this.newLane(name, opened);
    this.#lanes.set(name, { ref, lane });
    return lane;
  }
}
