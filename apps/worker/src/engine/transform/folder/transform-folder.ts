/** Opens the folder of a model that transforms pictures: its graph, how pictures are prepared for it, and what its output means. */
import { graphPath, openWhole, reportOf } from '../../folder/open-whole.ts';
import type { TransformInput, TransformResultKind } from '../../protocol/messages.ts';
import type { GraphReport, InferenceRuntime, LoadOptions } from '../../runtime/runtime.ts';
import type { PictureSize } from '../../values/resize.ts';
import { functionOf, labelsOf } from '../../values/scores.ts';
import { type Preparation, preparedSize, toValues } from '../preparation.ts';
import { type ClassReading, type MaskScale, maskScaleOf, planeOf, resultOf } from '../results.ts';
import { type RowOutput, TransformGraph, unusable } from '../transform-graph.ts';
import { readTransformConfig, type TransformModelConfig } from './transform-config.ts';

export interface TransformOptions extends LoadOptions {
  /** Which of several exports in one folder: the suffix of the graph's name, such as `_quantized`. Default none. */
  readonly variant?: string;
  /** What the graph gives; by the shape of its output, when absent. */
  readonly result?: TransformResultKind;
  /** Of a picture; what the graph does, when absent. */
  readonly scale?: number;
  readonly input?: TransformInput;
  readonly labels?: readonly string[];
}

/** What a result means. */
export type Reading =
  /** Every picture is cut into tiles of this size, and becomes `scale` times as wide and high. */
  | { readonly kind: 'picture'; readonly tile: PictureSize; readonly scale: number }
  | { readonly kind: 'mask'; readonly scale: MaskScale }
  | ({ readonly kind: 'class' } & ClassReading);

export interface TransformModel {
  readonly graph: TransformGraph;
  readonly preparation: Preparation;
  readonly reading: Reading;
  /** The size of the run at the opening, which most runs have. */
  readonly usualSize: PictureSize;
  /** A row of that size, for the warm-up. */
  readonly probe: Float32Array;
  /** Values of a row of the output. */
  readonly outputLength: number;
  readonly graphs: readonly GraphReport[];
  close(): Promise<void>;
}

/** Pixels of the sides of a tile, when the graph takes any. */
const TILE = 256;
/** Of the picture at the opening, for a graph that takes a picture at its own size. */
const PROBE: PictureSize = { width: 256, height: 256 };

/**
 * Opens a folder in Optimum's layout, its graph at the root or below `onnx/`, and runs the graph on one picture. The folder comes from the
 * registry; every path below it is fixed here. Throws LehrError `model-unavailable` that names the file; nothing stays loaded then.
 */
export async function openTransformModel(
  folder: string,
  runtime: InferenceRuntime,
  options: TransformOptions,
): Promise<TransformModel> {
  return openWhole(folder, runtime, (tracked) => openParts(folder, tracked, options));
}

async function openParts(
  folder: string,
  runtime: InferenceRuntime,
  options: TransformOptions,
): Promise<Omit<TransformModel, 'close'>> {
  const { variant, input = {}, result, scale, labels } = options;
  const { model, preparation: stated } = await readTransformConfig(folder, input);
  const path = graphPath(folder, variant);
  const session = await runtime.load({ path }, { spin: false, ...options });
  const graph = new TransformGraph(session);
  const preparation = forGraph(stated, graph, input);
  const isTiled = result === 'picture';
  const size = isTiled ? tileOf(graph, preparation) : preparedSize(preparation, PROBE);
  const probe = probeRow(preparation, graph, size);
  const [output] = await graph.run([probe], size);
  const kind = result ?? resultOf(output.dims, graph.layout);
  return {
    graph,
    preparation,
    reading: readingOf(kind, { output, graph, size, scale, labels, model }),
    usualSize: size,
    probe,
    outputLength: output.values.length,
    graphs: [reportOf('model', session)],
  };
}

/** A graph with one size gets all pictures at this size, and one with one channel gets grey. */
function forGraph(stated: Preparation, graph: TransformGraph, input: TransformInput): Preparation {
  const { channels, fixedSize } = graph;
  const wanted = channels === 1 && input.channels === undefined ? 'grey' : stated.channels;
  const given = wanted === 'grey' ? 1 : 3;
  if (channels !== undefined && channels !== given) {
    throw unusable(`it takes ${channels} channels, and models.yaml says channels: ${wanted}`);
  }
  const preparation = { ...stated, channels: wanted };
  if (!fixedSize || isSame(stated.crop, fixedSize)) return preparation;
  return { ...preparation, size: { kind: 'exact', ...fixedSize }, crop: undefined };
}

const isSame = (a: PictureSize | undefined, b: PictureSize): boolean =>
  a?.width === b.width && a.height === b.height;

function tileOf({ fixedSize }: TransformGraph, { size: rule }: Preparation): PictureSize {
  if (fixedSize) return fixedSize;
  if (rule.kind === 'exact') return { width: rule.width, height: rule.height };
  const multiple = rule.kind === 'own' ? rule.multiple : 1;
  const side = Math.ceil(TILE / multiple) * multiple;
  return { width: side, height: side };
}

/** Irregular, so that a graph overflows now that overflows on contrasts. */
function probeRow(preparation: Preparation, graph: TransformGraph, { width, height }: PictureSize) {
  const pixels = Uint8Array.from(
    { length: width * height * 3 },
    (_, i) => 127.5 + 127.5 * Math.sin(i * i * 0.7 + i),
  );
  return toValues(pixels, preparation, graph.layout);
}

interface Known {
  readonly output: RowOutput;
  readonly graph: TransformGraph;
  /** Of the picture that the output is of. */
  readonly size: PictureSize;
  readonly scale: number | undefined;
  readonly labels: readonly string[] | undefined;
  readonly model: TransformModelConfig;
}

function readingOf(kind: TransformResultKind, known: Known): Reading {
  const { output, graph, size: tile } = known;
  if (kind === 'class') return classReading(known);
  const { channels } = planeOf(output.dims, graph.layout);
  const wanted = kind === 'picture' ? [1, 3] : [1];
  if (!wanted.includes(channels)) {
    const shape = `[rows, ${output.dims.join(', ')}]`;
    throw unusable(
      `"${graph.output.name}" is ${shape}, wanted ${wanted.join(' or ')} channels for a ${kind}`,
    );
  }
  if (kind === 'picture') return { kind, tile, scale: scaleOf(known) };
  return { kind, scale: maskScaleOf(graph.output.name, output) };
}

/** The safety checker of diffusers says yes or no. */
const NSFW = ['nsfw'];

function classReading({ output, graph, labels, model }: Known): Reading {
  if (graph.output.type === 'bool') return { kind: 'class', labels: labels ?? NSFW, function: 'none' };
  const known = labels ?? labelsOf(model);
  const scores = output.values.length;
  if (output.dims.length !== 1 || (known.length > 0 && known.length !== scores)) {
    const shape = `[rows, ${output.dims.join(', ')}]`;
    throw unusable(`"${graph.output.name}" is ${shape}, wanted scores of ${known.length || 'its'} labels`);
  }
  return {
    kind: 'class',
    labels: Array.from({ length: scores }, (_, i) => known[i] ?? `LABEL_${i}`),
    function: functionOf(model),
  };
}

function scaleOf({ output, graph, size: tile, scale: stated }: Known): number {
  const { width, height } = planeOf(output.dims, graph.layout);
  const scale = width / tile.width;
  const isWhole = Number.isInteger(scale) && height === tile.height * scale;
  if (isWhole && scale === (stated ?? scale)) return scale;
  const sizes = `${width}x${height} pixels of ${tile.width}x${tile.height}`;
  throw unusable(
    isWhole
      ? `it makes ${sizes}; models.yaml says scale: ${stated}`
      : `it makes ${sizes}, wanted a whole multiple of the size`,
  );
}
