/** What a text job costs, for the API that admits it by its characters and the worker that charges it for its tokens. */
import type { TextItem } from '../contracts/text.ts';

/** Tokens per second of a small encoder (22 million weights, fp32) on two cores. */
const DEFAULT_TOKENS_PER_S = 3000;
/** Of English in the vocabulary of BERT. */
const CHARACTERS_PER_TOKEN = 4;
/** A text begins and ends with a special token. */
const SPECIAL_TOKENS = 2;

const tokensOfText = (text: string): number => Math.ceil(text.length / CHARACTERS_PER_TOKEN);

/** Estimated tokens of all texts, special tokens included. */
export function estimateTokens(texts: readonly TextItem[]): number {
  let tokens = 0;
  for (const item of texts) {
    tokens += SPECIAL_TOKENS;
    if (typeof item === 'string') tokens += tokensOfText(item);
    else if ('pair' in item) tokens += tokensOfText(item.text) + tokensOfText(item.pair);
    else tokens += item.length;
  }
  return tokens;
}

/** Estimated engine ms, at least 1; `tokensPerS` is the measured speed of the group. A row-step of text is one token. */
export const textCostMs = (tokens: number, tokensPerS: number = DEFAULT_TOKENS_PER_S): number =>
  Math.max(1, Math.round((tokens / tokensPerS) * 1000));
