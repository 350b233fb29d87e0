import type { MultilingualTokens } from './special-tokens.ts';

/** The most likely language, from the logits after `<|startoftranscript|>`. Undefined when they are all NaN. */
export function likeliestLanguage(
  logits: Float32Array,
  { languages }: MultilingualTokens,
): string | undefined {
  let best: string | undefined;
  let bestLogit = Number.NEGATIVE_INFINITY;
  for (const [code, token] of languages) {
    if (logits[token] > bestLogit) {
      best = code;
      bestLogit = logits[token];
    }
  }
  return best;
}
