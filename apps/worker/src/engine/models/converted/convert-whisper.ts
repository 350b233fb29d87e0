/** `lehr models prepare --precision int8`: writes the graphs of a Whisper folder again beside the originals, as the variant `_quantized`. */
import { existsSync } from 'node:fs';
import { readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { LehrError } from '@lehr/shared';
import { DRAFT_VARIANT } from '../../folder/files-state.ts';
import { keptFile } from '../../folder/prepared-manifest.ts';
import type { InferenceRuntime } from '../../runtime/runtime.ts';
import { largestDifference } from '../../runtime/tensor.ts';
import {
  openWhisperModel,
  type WhisperModel,
  type WhisperOptions,
} from '../../whisper/folder/whisper-folder.ts';
import { removeConverted, writeConverted } from './manifest.ts';
import { quantizeGraph } from './quantize-graph.ts';

export const INT8_VARIANT = '_quantized';

/** Weights of 7 bits and inputs of 8 bits differ by a few percent; a wrong weight or scale differs by about the whole. */
export const INT8_TOLERANCE = { difference: 0.1, same: 0.75 } as const;

interface ConvertedGraph {
  /** Below the folder. */
  readonly graph: string;
  readonly result: string;
  /** MatMuls that compute in int8. */
  readonly matmuls: number;
  /** Of the converted graph. */
  readonly bytes: number;
}

export interface ConvertedFolder extends WhisperDifference {
  readonly graphs: readonly ConvertedGraph[];
}

/**
 * Replaces what an earlier conversion made, and never another file. Throws LehrError `conflict` when the folder has such a variant of its
 * own, and `model-unavailable` when the result differs too much; nothing of it stays then.
 */
export async function convertWhisper(
  folder: string,
  runtime: InferenceRuntime,
  options: WhisperOptions,
): Promise<ConvertedFolder> {
  const below = existsSync(join(folder, 'encoder_model.onnx')) ? '' : 'onnx/';
  await undoConversion(folder);
  const graphs = graphsOf(folder, below);
  for (const { result } of graphs) {
    if (!existsSync(join(folder, result))) continue;
    throw new LehrError('conflict', `${join(folder, result)} is already there, and Lehr did not make it.`);
  }
  try {
    const made: ConvertedGraph[] = [];
    for (const { graph, draft, result } of graphs) {
      const { bytes, matmuls } = quantizeGraph(join(folder, graph));
      await writeFile(join(folder, draft), bytes);
      made.push({ graph, result, matmuls, bytes: bytes.byteLength });
    }
    const compared = await compareWhisper(folder, runtime, { ...options, variant: '' }, DRAFT_VARIANT);
    checkDifference(folder, compared);
    const kept = async (path: string, result = path) => ({ ...(await keptFile(folder, path)), path: result });
    await writeConverted(folder, {
      format: 1,
      made_at: new Date().toISOString(),
      precision: 'int8',
      sources: await Promise.all(graphs.map(({ graph }) => kept(graph))),
      results: await Promise.all(graphs.map(({ draft, result }) => kept(draft, result))),
      difference: compared.difference,
      tolerance: INT8_TOLERANCE.difference,
    });
    for (const { draft, result } of graphs) await rename(join(folder, draft), join(folder, result));
    return { ...compared, graphs: made };
  } finally {
    await removeDrafts(folder);
  }
}

/** Also removes what a conversion that was killed has left. Returns whether the folder was converted. */
export async function undoConversion(folder: string): Promise<boolean> {
  await removeDrafts(folder);
  return removeConverted(folder);
}

async function removeDrafts(folder: string): Promise<void> {
  for (const place of [folder, join(folder, 'onnx')]) {
    if (!(await stat(place).catch(() => undefined))?.isDirectory()) continue;
    for (const name of await readdir(place)) {
      if (name.endsWith(`${DRAFT_VARIANT}.onnx`)) await rm(join(place, name));
    }
  }
}

interface Names {
  readonly graph: string;
  readonly draft: string;
  readonly result: string;
}

/** A merged decoder comes before a pair, as when a worker opens the folder. */
function graphsOf(folder: string, below: string): Names[] {
  const isMerged = existsSync(join(folder, `${below}decoder_model_merged.onnx`));
  const decoders = isMerged ? ['decoder_model_merged'] : ['decoder_model', 'decoder_with_past_model'];
  return ['encoder_model', ...decoders].map((name) => {
    const graph = `${below}${name}.onnx`;
    if (!existsSync(join(folder, graph)))
      throw new LehrError('model-unavailable', `${join(folder, graph)} is not there.`);
    return {
      graph,
      draft: `${below}${name}${DRAFT_VARIANT}.onnx`,
      result: `${below}${name}${INT8_VARIANT}.onnx`,
    };
  });
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
