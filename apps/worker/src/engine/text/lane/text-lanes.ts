/** The text part of the engine: its open models and a lane for each. */
import { orClose } from '../../folder/open-whole.ts';
import { tunedSettings } from '../../lanes/engine-parts.ts';
import { ModelLanes } from '../../lanes/model-lanes.ts';
import type { OpenedModel, TextSample, TextToOpen } from '../../protocol/messages.ts';
import { openTextModel, type TextModel } from '../folder/text-folder.ts';
import { TextLane } from './text-lane.ts';
import { warmUpText } from './text-warm-up.ts';
import { claimTokens, type TokenBudget } from './token-budget.ts';

interface OpenModel {
  readonly model: TextModel;
  readonly budget: TokenBudget;
}

export class TextLanes extends ModelLanes<OpenModel, TextSample, TextLane> {
  /** Loads a model and warms it up; rejects with `model-unavailable` and the reason. */
  async open({ ref, folder, variant, tuned }: TextToOpen): Promise<OpenedModel> {
    const { runtime, clock } = this.parts;
    const settings = tunedSettings(this.parts.settings, tuned);
    const model = await openTextModel(folder, runtime, { ...(variant && { variant }), ...settings });
    const loadedAt = clock.monotonic();
    const budget = await orClose(model, () => warmUpText(model, clock));
    const warmUpMs = clock.monotonic() - loadedAt;
    this.add(ref, { model, budget });
    return {
      ref,
      warmUpMs,
      batching: 'step',
      graphs: model.graphs,
      stepMs: budget.measurements,
      rowCap: claimTokens(budget),
      text: { types: model.types, maxTokens: model.tokenizer.maxTokens },
    };
  }

  override submit(request: TextSample): void {
    this.lane(request).submit(request);
  }

  protected override newLane({ lane: name }: TextSample, opened: OpenModel): TextLane {
    const { clock, post, settings } = this.parts;
    const maxTexts = settings.rowCap === 'auto' ? Number.POSITIVE_INFINITY : settings.rowCap;
    return new TextLane({ name, ...opened, maxTexts, clock, post });
  }
}
