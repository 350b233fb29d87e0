/** The text part of the engine: its open models, their warm-up and a lane for each. */
import type { Clock } from '@lehr/shared';
import { closeOnFailure } from '../../folder/open-whole.ts';
import { ModelLanes, tunedSettings } from '../../lanes/model-lanes.ts';
import { worthWidening } from '../../lanes/row-cap.ts';
import type { OpenedModel, TextSample, TextToOpen } from '../../protocol/messages.ts';
import { openTextModel, type TextModel } from '../folder/text-folder.ts';
import type { EncodedText, TextTokenizer } from '../tokenizer.ts';
import { TextLane } from './text-lane.ts';
import { claimTokens, TOKEN_LADDER, TokenBudget } from './token-budget.ts';

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
    const budget = await closeOnFailure(model, () => warmUpText(model, clock));
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

/** The ladder stops after this time. */
const BUDGET_MS = 20_000;
/** A run of this length is past every budget. */
const LONGEST_RUN_MS = 250;
/** The most memory for the outputs of a run: scores of a whole vocabulary for every token are by far the largest. */
const MAX_OUTPUT_BYTES = 256 * 2 ** 20;
/** Tokens of each text of the warm-up: a sentence. */
const TEXT_TOKENS = 32;

/** Warm-up of a text model, before it serves any job: measures runs of more and more tokens while the throughput increases. */
export async function warmUpText(model: TextModel, clock: Clock): Promise<TokenBudget> {
  const budget = new TokenBudget(await mostTokens(model));
  const outputs = outputsOf(model);
  const startedAt = clock.monotonic();
  for (const tokens of TOKEN_LADDER) {
    const isOverTime = clock.monotonic() - startedAt > BUDGET_MS;
    if (isOverTime || tokens > budget.ceiling || !worthWidening(budget.measurements)) break;
    const texts = textsOf(tokens, model);
    try {
      // The first run of a shape allocates and, on some providers, tunes. The best of two is the one that nothing disturbed.
      await model.graph.run(texts, outputs);
      const runs = [await timed(clock, model, texts, outputs), await timed(clock, model, texts, outputs)];
      budget.measure(tokens, Math.min(...runs));
      if (runs[0] > LONGEST_RUN_MS) break;
    } catch (error) {
      if (tokens === TOKEN_LADDER[0]) throw error;
      budget.limit(tokens / 2);
      break;
    }
  }
  return budget;
}

async function timed(
  clock: Clock,
  model: TextModel,
  texts: readonly EncodedText[],
  outputs: readonly string[],
): Promise<number> {
  const startedAt = clock.monotonic();
  await model.graph.run(texts, outputs);
  return clock.monotonic() - startedAt;
}

const outputsOf = ({ reading }: TextModel): string[] => [...new Set(Object.values(reading.outputs))];

async function mostTokens(model: TextModel): Promise<number> {
  const [row] = await model.graph.run([textOf(2, model.tokenizer)], outputsOf(model));
  const bytesPerToken = Object.values(row)
    .filter(({ positions }) => positions > 1)
    .reduce((sum, { width }) => sum + 4 * width, 4);
  // A longer text still runs, alone.
  return Math.floor(MAX_OUTPUT_BYTES / bytesPerToken);
}

function textsOf(tokens: number, model: TextModel): EncodedText[] {
  const length = Math.min(tokens, TEXT_TOKENS, model.tokenizer.maxTokens);
  return Array.from({ length: Math.max(1, Math.round(tokens / length)) }, () =>
    textOf(length, model.tokenizer),
  );
}

/** Ids of the mask or of padding: what they are makes no difference to the time. */
export function textOf(length: number, tokenizer: TextTokenizer): EncodedText {
  const ids = new Array<number>(length).fill(tokenizer.mask?.id ?? tokenizer.padId);
  return { ids, typeIds: ids.map(() => 0), start: 0, count: length, wasTruncated: false };
}
