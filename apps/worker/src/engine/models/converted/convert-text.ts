/** `lehr models prepare --precision` for text models: writes the graph again beside the original, as the variant `_quantized` or `_fp16`. */
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { LehrError, type TextJobType } from '@lehr/shared';
import { DRAFT_VARIANT } from '../../folder/files-state.ts';
import type { InferenceRuntime } from '../../runtime/runtime.ts';
import { openTextModel, type TextOptions } from '../../text/folder/text-folder.ts';
import { type Recorded, recording } from '../prepared/recording.ts';
import { compareText, type TextDifference } from './compare-text.ts';
import { type ConvertedGraph, convertVariant } from './convert-variant.ts';
import { badValue, writeHalfGraph } from './half-graph.ts';
import type { ConvertedManifest } from './manifest.ts';
import { writeQuantized } from './quantize-graph.ts';

type Precision = ConvertedManifest['precision'];

interface Bounds {
  /** Of one less the cosine of two vectors. */
  readonly vectors: number;
  /** Of the difference of two scores, which are at most 1, or are compared as shares of their range. */
  readonly scores: number;
}

/** A model with more of a difference would rank or decide otherwise too often to be of use as the same model. */
export const TEXT_TOLERANCE: Readonly<Record<Precision, Bounds>> = {
  int8: { vectors: 0.02, scores: 0.1 },
  fp16: { vectors: 1e-4, scores: 0.01 },
};

interface Compared extends TextDifference {
  readonly tolerance: number;
}

export interface ConvertedText {
  readonly graphs: readonly ConvertedGraph[];
  /** By type of job that the model has. */
  readonly compared: readonly Compared[];
  /** The one of `compared` that is nearest to its bound, as in the manifest. */
  readonly difference: number;
  readonly tolerance: number;
}

/** Throws what convertVariant throws. */
export function convertText(
  folder: string,
  runtime: InferenceRuntime,
  options: TextOptions,
  precision: Precision,
): Promise<ConvertedText> {
  const original = { ...options, variant: '' };
  return convertVariant(folder, {
    graphs: [existsSync(join(folder, 'model.onnx')) ? 'model' : join('onnx', 'model')],
    precision,
    write: precision === 'int8' ? writeQuantized : (_, to) => writeHalf(folder, to, runtime, original),
    compare: async () => {
      const differences = await compareText(folder, runtime, original, DRAFT_VARIANT);
      const compared = differences.map((each) => ({ ...each, tolerance: boundOf(each.type, precision) }));
      checkDifferences(folder, precision, compared);
      const [{ difference, tolerance }] = [...compared].sort((a, b) => shareOf(b) - shareOf(a));
      return { compared, difference, tolerance };
    },
  });
}

const boundOf = (type: TextJobType, precision: Precision): number =>
  TEXT_TOLERANCE[precision][type === 'text-embedding' ? 'vectors' : 'scores'];

const shareOf = ({ difference, tolerance }: Compared): number => difference / tolerance;

function checkDifferences(folder: string, precision: Precision, compared: readonly Compared[]): void {
  const worst = compared.find((each) => !(shareOf(each) <= 1));
  if (!worst) return;
  const { type, difference, tolerance, of_range: isOfRange } = worst;
  const what = type === 'text-embedding' ? 'one less the cosine of two vectors' : 'a score';
  const share = isOfRange ? ' of its range' : '';
  throw new LehrError(
    'model-unavailable',
    `${folder} in ${precision} differs too much for ${type}: ${what} by ${difference.toPrecision(2)}${share}, at most ${tolerance} is allowed. ` +
      'Nothing was kept.',
  );
}

/**
 * Also runs the graph once with every value in half precision as an output. ONNX Runtime computes most nodes in float32 on a CPU, where only a value
 * that it returns is rounded: an overflow must not hide there.
 */
async function writeHalf(
  folder: string,
  to: string,
  runtime: InferenceRuntime,
  options: TextOptions,
): Promise<number> {
  const recorded: Recorded[] = [];
  const opened = await openTextModel(folder, recording(runtime, recorded), options);
  await opened.close();
  const [{ source, run, options: loaded }] = recorded;
  const check = to.replace(DRAFT_VARIANT, `_check${DRAFT_VARIANT}`);
  const names = writeHalfGraph(source.path, { graph: to, check });
  const session = await runtime.load({ path: check }, loaded);
  try {
    const bad = badValue(await session.run(run?.feeds ?? {}, names));
    if (bad === undefined) return names.length;
    const reason = `its value ${bad} is not finite in half precision. Nothing was kept.`;
    throw new LehrError('model-unavailable', `${relative(folder, source.path)} stays float32: ${reason}`);
  } finally {
    await session.close();
    await rm(check);
  }
}
