/**
 * Checks on the loaded sessions that rows of different lengths get the same logits in one call as alone. Two texts are started and
 * continued together, and compared with calls that no rewiring changes.
 */

import { toFloat16 } from '@lehr/onnx-model';
import { LehrError } from '@lehr/shared';
import { largestDifference } from '../../runtime/tensor.ts';
import type { Decoder } from '../decoder.ts';
import type { FloatData } from '../row-buffer.ts';

/** Two texts: their prompts, which differ in length, and the tokens that follow both. */
export interface TwoTexts {
  readonly prompts: readonly (readonly number[])[];
  readonly next: readonly number[];
}

export interface DecoderCheck {
  /** The largest difference between a row's logits in a batch and alone. */
  readonly difference: number;
  /** The largest difference between the logits of the two rows: how large `difference` would be if the graph mixed them up. */
  readonly effect: number;
}

/** Tokens after the prompt: few enough that both texts stay in the smallest slot. */
const STEPS = 3;

type Logits = readonly Float32Array[];

/** Compares with one call that reads each text whole. An aligned decoder gets the texts one by one. */
export async function checkDecoder(decoder: Decoder, texts: TwoTexts): Promise<DecoderCheck> {
  const whole = await readWhole(decoder, texts);
  const groups = decoder.batching.mode === 'rows' ? [[0, 1]] : [[0], [1]];
  const written = await readInPieces(decoder, texts, groups);
  return { difference: difference(whole, written), effect: largestDifference(whole[0], whole[1]) };
}

/**
 * As checkDecoder, for a rewired graph that rounds by the largest value of each call, so that a text read whole or beside another one
 * has other logits. `plain` has the graph before it was rewired: alone, a text must have the same logits in both; and two texts
 * must have the same logits in either order, because that changes no largest value.
 */
export async function checkQuantizedDecoder(
  decoder: Decoder,
  plain: Decoder,
  texts: TwoTexts,
): Promise<DecoderCheck> {
  const unchanged = await readInPieces(plain, texts, [[0], [1]]);
  const alone = await readInPieces(decoder, texts, [[0], [1]]);
  const together = await readInPieces(decoder, texts, [[0, 1]]);
  const reversed = await readInPieces(decoder, texts, [[1, 0]]);
  return {
    difference: Math.max(difference(unchanged, alone), difference(together, reversed)),
    effect: Math.min(
      largestDifference(unchanged[0], unchanged[1]),
      largestDifference(together[0], together[1]),
    ),
  };
}

/** Throws LehrError `numeric-error` when the graph as it is gives no finite logits for the two texts. */
export async function checkFinite(decoder: Decoder, texts: TwoTexts): Promise<void> {
  await readInPieces(decoder, texts, [[0], [1]]);
}

const difference = (some: Logits, others: Logits): number =>
  Math.max(...some.map((row, i) => largestDifference(row, others[i])));

async function readWhole(decoder: Decoder, { prompts, next }: TwoTexts): Promise<Logits> {
  const logits: Float32Array[] = [];
  for (const [i, prompt] of prompts.entries()) {
    const text = [...prompt, ...next.slice(0, STEPS)];
    const started = await decoder.start([text], [wave(decoder, i + 1)]);
    logits.push(started.logits(0, text.length - 1).slice());
  }
  return finite(logits);
}

/** The logits after the last token, by text. The texts of a group, in its order, share a batch. */
async function readInPieces(
  decoder: Decoder,
  { prompts, next }: TwoTexts,
  groups: readonly (readonly number[])[],
): Promise<Logits> {
  const logits: Float32Array[] = [];
  for (const group of groups) {
    const batch = decoder.newBatch();
    for (const text of group) {
      batch.push((await decoder.start([prompts[text]], [wave(decoder, text + 1)])).state(0));
    }
    let last: Float32Array[] = [];
    for (const token of next.slice(0, STEPS)) {
      last = await decoder.step(batch, new Array<number>(group.length).fill(token));
      batch.advance();
    }
    for (const [row, text] of group.entries()) logits[text] = last[row].slice();
  }
  return finite(logits);
}

function finite(logits: Logits): Logits {
  if (logits.every((row) => row.every((value) => Number.isFinite(value)))) return logits;
  throw new LehrError('numeric-error', 'The decoder gave logits that are not finite for a synthetic window.');
}

/** Synthetic audio features, different for every `phase`. */
function wave({ sizes }: Decoder, phase: number): FloatData {
  const values = Float32Array.from({ length: sizes.audioPositions * sizes.width }, (_, i) =>
    Math.sin(i * i * 0.7 + i * phase),
  );
  return sizes.floatType === 'float32' ? values : toFloat16(values);
}
