/**
 * Proves on the loaded sessions that rows of different lengths write in one call what they write alone: two texts are
 * begun, continued together, and compared with reading each of them at once, which no rewiring touches.
 */
import { LehrError } from '@lehr/shared';
import { toFloat16 } from '../runtime/half.ts';
import type { Decoder } from '../whisper/decoder.ts';
import type { FloatData } from '../whisper/row-buffer.ts';

export interface DecoderCheck {
  /** The largest difference between a row's logits in company and alone. */
  readonly difference: number;
  /** The largest difference between the two rows: what mixing them up would look like. */
  readonly effect: number;
}

/** Tokens after the prompt, so that the longer text needs a bigger slot only if slots are counted wrongly. */
const STEPS = 3;

/** `prompts` of different lengths, `next` the tokens that follow in both. An aligned decoder gets them one by one. */
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
    throw new LehrError('numeric-error', 'The decoder gave no finite logits for a made-up window.');
  }
  return {
    difference: Math.max(...alone.map((row, i) => largestDifference(row, written[i]))),
    effect: largestDifference(alone[0], alone[1]),
  };
}

/** Made-up audio features; another `phase`, other ones. */
function wave({ sizes }: Decoder, phase: number): FloatData {
  const values = Float32Array.from({ length: sizes.audioPositions * sizes.width }, (_, i) =>
    Math.sin(i * i * 0.7 + i * phase),
  );
  return sizes.floatType === 'float32' ? values : toFloat16(values);
}

/** Infinity where either holds a NaN, so that such a pair never passes for equal. */
function largestDifference(a: Float32Array, b: Float32Array): number {
  let largest = 0;
  for (let i = 0; i < a.length; i += 1) {
    const difference = Math.abs(a[i] - b[i]);
    if (!(difference <= largest)) largest = Number.isNaN(difference) ? Number.POSITIVE_INFINITY : difference;
  }
  return largest;
}
