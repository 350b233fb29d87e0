/** The text half of the engine: its open models and a lane for each. */
import { orClose } from '../../models/open-whole.ts';
import { openTextModel, type TextModel } from '../../models/text/text-folder.ts';
import { type EngineParts, isNotOpen } from '../engine-parts.ts';
import type { OpenedModel, SampleId, TextSample, TextToOpen } from '../protocol.ts';
import type { TurnTaker } from '../turns.ts';
import { TextLane } from './text-lane.ts';
import { warmUpText } from './text-warm-up.ts';
import { claimTokens, type TokenBudget } from './token-budget.ts';

interface OpenModel {
  readonly model: TextModel;
  readonly budget: TokenBudget;
}

export class TextLanes {
  readonly #parts: EngineParts;
  readonly #models = new Map<string, OpenModel>();
  readonly #lanes = new Map<string, TextLane>();
  /** The model of each lane. */
  readonly #laneModels = new Map<string, string>();

  constructor(parts: EngineParts) {
    this.#parts = parts;
  }

  /** Loads a model and warms it up; rejects with `model-unavailable` and the reason. */
  async open({ ref, folder, variant }: TextToOpen): Promise<OpenedModel> {
    const { runtime, settings, clock } = this.#parts;
    const model = await openTextModel(folder, runtime, { ...settings, ...(variant && { variant }) });
    const budget = await orClose(model, () => warmUpText(model, clock));
    this.#models.set(ref, { model, budget });
    return {
      ref,
      batching: 'step',
      graphs: model.graphs,
      stepMs: budget.measurements,
      rowCap: claimTokens(budget),
      text: { types: model.types, maxTokens: model.tokenizer.maxTokens },
    };
  }

  /** Throws LehrError `invalid-input` for what the model cannot do. */
  submit(request: TextSample): void {
    this.#lane(request).submit(request);
  }

  /** Cancels a sample, of which nothing more is posted; returns false when there is no such sample. */
  cancel(id: SampleId): boolean {
    return [...this.#lanes.values()].some((lane) => lane.cancel(id));
  }

  turnTakers(): TurnTaker[] {
    return [...this.#lanes.values()];
  }

  /** Closes a model that has no sample left. */
  async closeModel(ref: string): Promise<void> {
    const open = this.#models.get(ref);
    if (!open) return;
    this.#models.delete(ref);
    for (const [name, model] of this.#laneModels) {
      if (model !== ref) continue;
      this.#laneModels.delete(name);
      this.#lanes.delete(name);
    }
    await open.model.close();
  }

  async close(): Promise<void> {
    for (const { model } of this.#models.values()) await model.close();
  }

  #lane({ lane: name, model: ref }: TextSample): TextLane {
    const known = this.#lanes.get(name);
    if (known) return known;
    const open = this.#models.get(ref);
    if (!open) throw isNotOpen(ref);
    const { clock, post, settings } = this.#parts;
    const maxTexts = settings.rowCap === 'auto' ? Number.POSITIVE_INFINITY : settings.rowCap;
    const lane = new TextLane({ name, ...open, maxTexts, clock, post });
    this.#lanes.set(name, lane);
    this.#laneModels.set(name, ref);
    return lane;
  }
}
