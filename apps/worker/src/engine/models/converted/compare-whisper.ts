/** How far the logits of a converted Whisper are from the original's, for the same sound and the same tokens. */

import { largestDifference } from '../../runtime/largest-difference.ts';
import type { InferenceRuntime } from '../../runtime/runtime.ts';
import {
  openWhisperModel,
  type WhisperModel,
  type WhisperOptions,
} from '../../whisper/folder/whisper-folder.ts';

export interface WhisperDifference {
  /** The largest difference of logits, as a share of the original's largest logit. Infinite when one is not a number. */
  readonly difference: number;
  /** Positions where both choose the same token, of `tokens`. */
  readonly same: number;
  readonly tokens: number;
}

const TOKENS = 16;

/** The original writes 16 tokens for a test sound; the converted model predicts each of them after the same tokens. */
export async function compareWhisper(
  folder: string,
  runtime: InferenceRuntime,
  options: WhisperOptions,
  variant: string,
): Promise<WhisperDifference> {
  const wanted = await predictions(folder, runtime, options);
  const found = await predictions(folder, runtime, { ...options, variant }, wanted.map(best));
  const largest = wanted.reduce((most, row) => row.reduce((a, b) => Math.max(a, Math.abs(b)), most), 0);
  return {
    difference: Math.max(...wanted.map((row, i) => largestDifference(row, found[i]))) / largest,
    same: wanted.filter((row, i) => best(row) === best(found[i])).length,
    tokens: wanted.length,
  };
}

const best = (logits: Float32Array): number =>
  logits.reduce((most, value, i) => (value > logits[most] ? i : most), 0);

/** One row of logits per position, after `given` tokens or after its own choices. */
async function predictions(
  folder: string,
  runtime: InferenceRuntime,
  options: WhisperOptions,
  given?: readonly number[],
): Promise<Float32Array[]> {
  const model = await openWhisperModel(folder, runtime, options);
  try {
    return await predict(model, given);
  } finally {
    await model.close();
  }
}

async function predict(
  { decoder, encoder, frontEnd, tokenizer }: WhisperModel,
  given: readonly number[] | undefined,
): Promise<Float32Array[]> {
  // Features of a sound are between about -1 and 1.
  const sound = Float32Array.from({ length: frontEnd.melBins * frontEnd.windowFrames }, (_, i) =>
    Math.sin(i * i),
  );
  const [features] = await encoder.encode([sound], decoder.sizes.floatType);
  const started = await decoder.start([[tokenizer.special.start]], [features]);
  const rows = [started.logits(0, 0).slice()];
  const batch = decoder.newBatch();
  batch.push(started.state(0));
  while (rows.length < TOKENS) {
    const token = given?.[rows.length - 1] ?? best(rows[rows.length - 1]);
    const [logits] = await decoder.step(batch, [token]);
    batch.advance();
    rows.push(logits.slice());
  }
  return rows;
}
