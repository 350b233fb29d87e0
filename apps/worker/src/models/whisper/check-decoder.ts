/**
 * Checks on the loaded sessions that rows of different lengths get the same logits in one call as alone: two texts are
 * started and continued together, and compared with one call that reads each text whole, a call that no rewiring changes.
 */
import { LehrError } from '@lehr/shared';
import { toFloat16 } from '../../runtime/half.ts';
import type { Decoder } from '../../whisper/decoder.ts';
import type { FloatData } from '../../whisper/row-buffer.ts';
import { largestDifference } from '../largest-difference.ts';

export interface DecoderCheck {
  /** The largest difference between a row's logits in a batch and alone. */
  readonly difference: number;
  /** The largest difference between the logits of the two rows: how large `difference` would be if the graph mixed them up. */
  readonly effect: number;
}

/** Tokens after the prompt: few enough that both texts stay in the smallest slot. */
const STEPS = 3;

/** `prompts` differ in length; `next` are the tokens that follow both. An aligned decoder gets the texts one by one. */
export async function checkDecoder(
  decoder: Decoder,
  prompts: readonly (readonly number[])[],
  next: readonly number[],
): Promise<DecoderCheck> {
  const audio = prompts.map((_, i) => wave(decoder, i + 1));
  const alone: Float32Array[] = [];
  for (const [i, prompt] of prompts.entries()) {
    const text = [...prompt, ...next.slice(0, STEPS)];
    alone.push((await decoder.start([text], [audio[i]])).logits(0, text.length - 1).slice());
  }
  const together = decoder.batching.mode === 'rows' ? [prompts] : prompts.map((prompt) => [prompt]);
  const written: Float32Array[] = [];
  for (const group of together) {
    const batch = decoder.newBatch();
    for (const prompt of group) {
      batch.push((await decoder.start([prompt], [audio[prompts.indexOf(prompt)]])).state(0));
    }
    let logits: Float32Array[] = [];
    for (const token of next.slice(0, STEPS)) {
      logits = await decoder.step(batch, new Array<number>(group.length).fill(token));
      batch.advance();
    }
    written.push(...logits);
  }
  if (alone.some((row) => row.some((value) => !Number.isFinite(value)))) {
    throw new LehrError(
      'numeric-error',
      'The decoder gave logits that are not finite for a synthetic window.',
    );
  }
  return {
    difference: Math.max(...alone.map((row, i) => largestDifference(row, written[i]))),
    effect: largestDifference(alone[0], alone[1]),
  };
}

/** Synthetic audio features, different for every `phase`. */
function wave({ sizes }: Decoder, phase: number): FloatData {
  const values = Float32Array.from({ length: sizes.audioPositions * sizes.width }, (_, i) =>
    Math.sin(i * i * 0.7 + i * phase),
  );
  return sizes.floatType === 'float32' ? values : toFloat16(values);
}
