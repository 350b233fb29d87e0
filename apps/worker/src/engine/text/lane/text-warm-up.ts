/** Warm-up of a text model, before it serves any job: measures runs of more and more tokens while the throughput increases. */
import type { Clock } from '@lehr/shared';
import { worthWidening } from '../../lanes/row-cap.ts';
import type { TextModel } from '../folder/text-folder.ts';
import type { EncodedText } from '../tokenizer.ts';
import { TOKEN_LADDER, TokenBudget } from './token-budget.ts';

/** The ladder stops after this time. */
const BUDGET_MS = 20_000;
/** A run of this length is past every budget. */
const LONGEST_RUN_MS = 250;
/** The most memory for the outputs of a run: scores of a whole vocabulary for every token are by far the largest. */
const MAX_OUTPUT_BYTES = 256 * 2 ** 20;
/** Tokens of each text of the warm-up: a sentence. */
const TEXT_TOKENS = 32;

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
  const [row] = await model.graph.run([textOf(2, model)], outputsOf(model));
  const bytesPerToken = Object.values(row)
    .filter(({ positions }) => positions > 1)
    .reduce((sum, { width }) => sum + 4 * width, 4);
  // A longer text still runs, alone.
  return Math.floor(MAX_OUTPUT_BYTES / bytesPerToken);
}

function textsOf(tokens: number, model: TextModel): EncodedText[] {
  const length = Math.min(tokens, TEXT_TOKENS, model.tokenizer.maxTokens);
  return Array.from({ length: Math.max(1, Math.round(tokens / length)) }, () => textOf(length, model));
}

/** Ids of the mask or of padding: what they are makes no difference to the time. */
function textOf(length: number, { tokenizer }: TextModel): EncodedText {
  const ids = new Array<number>(length).fill(tokenizer.mask?.id ?? tokenizer.padId);
  return { ids, typeIds: ids.map(() => 0), start: 0, count: length, wasTruncated: false };
}
