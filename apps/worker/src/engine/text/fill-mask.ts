/** The most likely tokens in place of each mask of a text. */

import { LehrError } from '@lehr/shared';
import type { Filling } from '../protocol/messages.ts';
import { best, softmax } from '../values/scores.ts';
import type { RowOutput } from './text-graph.ts';
import type { EncodedText, TextTokenizer } from './tokenizer.ts';

/** Positions of the masks. Throws LehrError `invalid-input` when there is none; the message continues the name of the text. */
function masksOf({ ids }: EncodedText, { mask }: TextTokenizer): number[] {
  if (!mask)
    throw new LehrError('invalid-input', 'cannot be filled: the vocabulary of the model has no mask token.');
  const found = ids.flatMap((id, position) => (id === mask.id ? [position] : []));
  if (found.length === 0) throw new LehrError('invalid-input', `has no ${mask.token} that could be filled.`);
  return found;
}

/** Best first, for each mask. Yields after each filling, because there may be very many of them. */
export function* fillMasks(
  encoded: EncodedText,
  logits: RowOutput,
  tokenizer: TextTokenizer,
  topK: number,
): Generator<undefined, Filling[][]> {
  const masks = masksOf(encoded, tokenizer);
  // As transformers: with one mask the special tokens are left out, with several the other masks must stay visible.
  const skipSpecial = masks.length === 1;
  const fills: Filling[][] = [];
  for (const position of masks) {
    const from = position * logits.width;
    const scores = softmax(logits.values.subarray(from, from + logits.width));
    const ofMask: Filling[] = [];
    for (const token of best(scores, topK)) {
      const filled = encoded.ids.map((id, i) => (i === position ? token : id));
      ofMask.push({
        score: scores[token],
        token,
        token_str: tokenizer.decode([token], { skipSpecial: false }),
        sequence: tokenizer.decode(filled, { skipSpecial }),
      });
      yield;
    }
    fills.push(ofMask);
  }
  return fills;
}

/** Tokens in the sequences of all fillings of one job: each filling has a whole sequence. Takes about a second to decode. */
const MAX_SEQUENCE_TOKENS = 1_000_000;

/** Counts the tokens in the sequences of a job. */
export class SequenceTokens {
  #tokens = 0;

  /** Throws LehrError `invalid-input` when the job would have too many; the message continues the name of the text. */
  add(encoded: EncodedText, tokenizer: TextTokenizer, topK: number): void {
    const masks = masksOf(encoded, tokenizer).length;
    const tokens = encoded.ids.length;
    this.#tokens += masks * topK * tokens;
    if (this.#tokens <= MAX_SEQUENCE_TOKENS) return;
    const counted = `masks (${masks}) x top_k (${topK}) x tokens (${tokens})`;
    throw new LehrError(
      'invalid-input',
      `brings the sequences of this job to ${this.#tokens} tokens, and a job may have ${MAX_SEQUENCE_TOKENS}: this text has ${counted}. ` +
        'Lower top_k, or send fewer masks or texts.',
    );
  }
}
