/** The most likely tokens in place of each mask of a text. */
import { LehrError } from '@lehr/shared';
import { best, softmax } from './scores.ts';
import type { RowOutput } from './text-graph.ts';
import type { EncodedText, TextTokenizer } from './tokenizer.ts';

export interface Filling {
  readonly score: number;
  readonly token: number;
  readonly token_str: string;
  /** The text with this token. Its other masks stay. */
  readonly sequence: string;
}

/** Positions of the masks. Throws LehrError `invalid-input` when there is none; the message continues the name of the text. */
export function masksOf({ ids }: EncodedText, { mask }: TextTokenizer): number[] {
  if (!mask)
    throw new LehrError('invalid-input', 'cannot be filled: the vocabulary of the model has no mask token.');
  const found = ids.flatMap((id, position) => (id === mask.id ? [position] : []));
  if (found.length === 0) throw new LehrError('invalid-input', `has no ${mask.token} that could be filled.`);
  return found;
}

/** Best first, for each mask. */
export function fillMasks(
  encoded: EncodedText,
  logits: RowOutput,
  tokenizer: TextTokenizer,
  topK: number,
): Filling[][] {
  const masks = masksOf(encoded, tokenizer);
  // As transformers: with one mask the special tokens are left out, with several the other masks must stay visible.
  const skipSpecial = masks.length === 1;
  return masks.map((position) => {
    const from = position * logits.width;
    const scores = softmax(logits.values.subarray(from, from + logits.width));
    return best(scores, topK).map((token): Filling => {
      const filled = encoded.ids.map((id, i) => (i === position ? token : id));
      return {
        score: scores[token],
        token,
        token_str: tokenizer.decode([token], { skipSpecial: false }),
        sequence: tokenizer.decode(filled, { skipSpecial }),
      };
    });
  });
}
