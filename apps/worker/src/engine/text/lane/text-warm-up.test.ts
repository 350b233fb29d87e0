import { type Clock, systemClock } from '@lehr/shared';
import { expect, test } from 'vitest';
import type { TextModel } from '../folder/text-folder.ts';
import type { EncodedText } from '../tokenizer.ts';
import { warmUpText } from './text-warm-up.ts';

/** A model of short texts whose outputs have so many floats for each token. */
function modelOf(width: number, seen: number[]): TextModel {
  const run = async (texts: readonly EncodedText[]) => {
    seen.push(texts.reduce((sum, { ids }) => sum + ids.length, 0));
    return texts.map(({ ids }) => ({
      logits: { values: new Float32Array(0), positions: ids.length, width },
    }));
  };
  return {
    tokenizer: { maxTokens: 8192, padId: 0, mask: undefined },
    graph: { run },
    reading: { outputs: { 'fill-mask': 'logits' } },
  } as unknown as TextModel;
}

test('The outputs of a run take at most 256 MB, also where one text of the most tokens would take more', async () => {
  const seen: number[] = [];
  const width = 250_000;
  const budget = await warmUpText(modelOf(width, seen), systemClock as Clock);
  expect(budget.ceiling * width * 4).toBeLessThanOrEqual(256 * 2 ** 20);
  expect(Math.max(...seen)).toBeLessThanOrEqual(budget.ceiling);
});
