/** The open models of one task, and their lanes. */

import { RecentlyUsed } from '@lehr/shared';
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

  protected opened(ref: string): Model {
    const opened = this.#models.get(ref);
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
