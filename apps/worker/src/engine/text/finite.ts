/** Whether a graph's outputs for a text are numbers that an answer can be made of. */
import { LehrError } from '@lehr/shared';
import type { RowOutput } from './text-graph.ts';

/**
 * Checks the values of one position. `masksLogits`: they are logits of a softmax, of which some may be -Infinity, which gives the score
 * 0; not all, because no score would be a number then. Throws LehrError `numeric-error`.
 */
export function checkValues({ values, width }: RowOutput, position: number, masksLogits: boolean): void {
  let largest = Number.NEGATIVE_INFINITY;
  for (let i = position * width; i < (position + 1) * width; i += 1) {
    const value = values[i];
    if (!Number.isFinite(value) && !(masksLogits && value === Number.NEGATIVE_INFINITY)) throw notFinite();
    if (value > largest) largest = value;
  }
  if (largest === Number.NEGATIVE_INFINITY) throw notFinite();
}

const notFinite = (): LehrError =>
  new LehrError('numeric-error', 'The text graph produced values that are not finite.');
