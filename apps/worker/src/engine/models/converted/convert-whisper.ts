/** `lehr models prepare --precision int8`: writes the graphs of a Whisper folder again beside the originals, as the variant `_quantized`. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { LehrError } from '@lehr/shared';
import { DRAFT_VARIANT } from '../../folder/files-state.ts';
import type { InferenceRuntime } from '../../runtime/runtime.ts';
import { largestDifference } from '../../runtime/tensor.ts';
import {
  openWhisperModel,
  type WhisperModel,
  type WhisperOptions,
} from '../../whisper/folder/whisper-folder.ts';
import { type ConvertedGraph, convertVariant } from './convert-variant.ts';
import { writeQuantized } from './quantize-graph.ts';

/** Weights of 7 bits and inputs of 8 bits differ by a few percent; a wrong weight or scale differs by about the whole. */
export const INT8_TOLERANCE = { difference: 0.1, same: 0.75 } as const;

export interface ConvertedWhisper extends WhisperDifference {
  readonly tolerance: number;
  readonly graphs: readonly ConvertedGraph[];
}

/** Throws what convertVariant throws. */
export function convertWhisper(
  folder: string,
  runtime: InferenceRuntime,
  options: WhisperOptions,
): Promise<ConvertedWhisper> {
  return convertVariant(folder, {
    graphs: graphsOf(folder),
    precision: 'int8',
    write: writeQuantized,
    compare: async () => {
      const compared = await compareWhisper(folder, runtime, { ...options, variant: '' }, DRAFT_VARIANT);
      checkDifference(folder, compared);
      return { ...compared, tolerance: INT8_TOLERANCE.difference };
    },
  });
}

/** A merged decoder comes before a pair, as when a worker opens the folder. */
function graphsOf(folder: string): string[] {
  const below = existsSync(join(folder, 'encoder_model.onnx')) ? '' : 'onnx/';
  const isMerged = existsSync(join(folder, `${below}decoder_model_merged.onnx`));
  const decoders = isMerged ? ['decoder_model_merged'] : ['decoder_model', 'decoder_with_past_model'];
  return ['encoder_model', ...decoders].map((name) => `${below}${name}`);
}

function checkDifference(folder: string, { difference, same, tokens }: WhisperDifference): void {
  if (difference <= INT8_TOLERANCE.difference && same >= INT8_TOLERANCE.same * tokens) return;
  throw new LehrError(
    'model-unavailable',
    `${folder} in int8 differs by ${difference.toPrecision(2)} of the largest logit and chooses ${same} of ${tokens} tokens alike; ` +
      `at most ${INT8_TOLERANCE.difference} and at least ${INT8_TOLERANCE.same * tokens} are allowed. Nothing was kept.`,
  );
}

interface WhisperDifference {
  /** The largest difference of logits, as a share of the original's largest logit. Infinite when one is not a number. */
  readonly difference: number;
  /** Positions where both choose the same token, of `tokens`. */
  readonly same: number;
  readonly tokens: number;
}

const TOKENS = 16;

/**
 * How far the logits of a converted Whisper are from the original's, for the same sound and the same tokens.
 *
 * The original writes 16 tokens for a test sound; the converted model predicts each of them after the same tokens.
 */
async function compareWhisper(
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
